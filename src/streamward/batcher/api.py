"""A batcher's HTTP on loopback: `/metrics`, `/health` while it runs, `/ready` while everything does its work.

A port that is taken, by another batcher of this host say, gives way to the next free one.
"""

import contextlib
import json
from collections.abc import AsyncIterator
from http import HTTPStatus

from streamward.batcher.batcher import Batcher
from streamward.batcher.metrics import CONTENT_TYPE, BatcherMetrics
from streamward.runtime.local_http import Asked, LocalApi, Reply, Route

TRIES = 100  # ports after the one that is wanted


class BatcherApi:
    """What is served."""

    def __init__(self, batcher: Batcher, metrics: BatcherMetrics) -> None:
        self._batcher = batcher
        self._metrics = metrics
        self._api = LocalApi({
            ("GET", "/metrics"): Route(self._page),
            ("GET", "/health"): Route(self._health),
            ("GET", "/ready"): Route(self._ready),
        })

    async def start(self, wanted: int) -> int:
        """Listens on loopback; returns the port."""
        for port in range(wanted, wanted + TRIES) if wanted else ():
            try:
                return await self._api.start(port)
            except OSError:
                continue
        return await self._api.start(0)

    async def stop(self) -> None:
        """Listens no more."""
        await self._api.stop()

    async def _health(self, _asked: Asked) -> Reply:
        return Reply(HTTPStatus.OK, b'{"alive": true}')

    async def _ready(self, _asked: Asked) -> Reply:
        services = {name: body.is_well for name, body in self._batcher.bodies.items()}
        status = HTTPStatus.OK if self._batcher.is_ready else HTTPStatus.SERVICE_UNAVAILABLE
        return Reply(status, json.dumps({"ready": self._batcher.is_ready, "services": services}).encode())

    async def _page(self, _asked: Asked) -> Reply:
        return Reply(HTTPStatus.OK, self._metrics.render(self._batcher), CONTENT_TYPE)


@contextlib.asynccontextmanager
async def served(api: BatcherApi, wanted: int) -> AsyncIterator[int]:
    """Serves for as long as the block lasts, on the port that it gives."""
    try:
        yield await api.start(wanted)
    finally:
        await api.stop()
