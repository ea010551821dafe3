"""A Worker's HTTP on loopback (S0-028 to S0-032): whether it lives and is ready, its metrics, and how it is ended."""

from http import HTTPStatus
from typing import Protocol

from streamward.model.secret import Secret
from streamward.runner.ending import Ending
from streamward.runner.metrics import CONTENT_TYPE, WorkerMetrics
from streamward.runtime.local_http import Asked, LocalApi, Reply, Route


class Examined(Protocol):
    """The Worker, as far as it is looked at."""

    @property
    def is_alive(self) -> bool: ...
    @property
    def is_ready(self) -> bool: ...
    @property
    def metrics(self) -> WorkerMetrics: ...


class WorkerApi:
    """What is served."""

    def __init__(self, worker: Examined, ending: Ending, *, secret: Secret) -> None:
        self._worker = worker
        self._ending = ending
        self._api = LocalApi(
            {
                ("GET", "/healthz"): Route(self._health),
                ("GET", "/ready"): Route(self._ready),
                ("GET", "/metrics"): Route(self._metrics),
                ("POST", "/drain"): Route(self._drain, is_guarded=True),
                ("POST", "/terminate"): Route(self._terminate, is_guarded=True),
            },
            secret=secret,
        )

    async def start(self, port: int) -> int:
        """Listens on loopback; returns the port."""
        return await self._api.start(port)

    async def stop(self) -> None:
        """Listens no more."""
        await self._api.stop()

    async def _health(self, _asked: Asked) -> Reply:
        return _state("alive", is_so=self._worker.is_alive)

    async def _ready(self, _asked: Asked) -> Reply:
        return _state("ready", is_so=self._worker.is_ready and self._worker.is_alive)

    async def _metrics(self, _asked: Asked) -> Reply:
        return Reply(HTTPStatus.OK, self._worker.metrics.render(), CONTENT_TYPE)

    async def _drain(self, _asked: Asked) -> Reply:
        self._ending.drain()
        return Reply(HTTPStatus.ACCEPTED, b"{}")

    async def _terminate(self, _asked: Asked) -> Reply:
        self._ending.stop()
        return Reply(HTTPStatus.ACCEPTED, b"{}")


def _state(name: str, *, is_so: bool) -> Reply:
    status = HTTPStatus.OK if is_so else HTTPStatus.SERVICE_UNAVAILABLE
    return Reply(status, f'{{"{name}": {str(is_so).lower()}}}'.encode())
