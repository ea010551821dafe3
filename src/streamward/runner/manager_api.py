"""A runner's HTTP on loopback: its own metrics on one port, its Workers' on another (S0-078), and where those are.

    9107  /metrics /healthz     and, for who knows its secret, /clip and /snapshot of its cameras
    9108  /metrics /targets     all Workers' metrics as one page; each Worker's port, for Prometheus' HTTP discovery

A port that is taken, by another runner of this host say, gives way to the next free one.
"""

import contextlib
import json
import os
from collections.abc import AsyncIterator
from functools import partial
from http import HTTPStatus

from streamward.model.secret import Secret
from streamward.protocol.readiness import RunnerReady
from streamward.runner import facts
from streamward.runner.footage import footage
from streamward.runner.manager import Manager
from streamward.runner.manager_metrics import RunnerMetrics, union
from streamward.runner.metrics import CONTENT_TYPE
from streamward.runtime import local_door
from streamward.runtime.journal import Journal
from streamward.runtime.local_http import HOST, Asked, LocalApi, Reply, Route
from streamward.settings import Settings

TRIES = 100  # ports after the one that is wanted


class RunnerApi:
    """What is served."""

    def __init__(self, manager: Manager, runner_id: str, *, secret: Secret) -> None:
        self._manager = manager
        self._secret = secret
        self._runner_id = runner_id
        self._metrics = RunnerMetrics(runner_id)
        self._own = LocalApi(
            {
                ("GET", "/metrics"): Route(self._page),
                ("GET", "/healthz"): Route(self._health),
                ("GET", "/clip"): Route(partial(self._footage, "/clip"), is_guarded=True),
                ("GET", "/snapshot"): Route(partial(self._footage, "/snapshot"), is_guarded=True),
            },
            secret=secret,
        )
        self._workers = LocalApi({("GET", "/metrics"): Route(self._union), ("GET", "/targets"): Route(self._targets)})

    @contextlib.asynccontextmanager
    async def served(self, settings: Settings, journal: Journal) -> AsyncIterator[RunnerReady]:
        """Listens on loopback, and can be found by a person of this host."""
        own = await _listening(self._own, settings.prom_manager_port)
        workers = await _listening(self._workers, settings.prom_worker_port)
        try:
            with local_door.opened(settings.data, self._runner_id, own, self._secret):
                journal.record(facts.RunnerServes(own_port=own, workers_port=workers))
                yield RunnerReady(
                    pid=os.getpid(),
                    runner_id=self._runner_id,
                    url=f"http://{HOST}:{own}",
                    workers_url=f"http://{HOST}:{workers}",
                )
        finally:
            await self._own.stop()
            await self._workers.stop()

    async def _health(self, _asked: Asked) -> Reply:
        return Reply(HTTPStatus.OK, b'{"alive": true}')

    async def _page(self, _asked: Asked) -> Reply:
        self._metrics.show(self._manager.counts)
        return Reply(HTTPStatus.OK, self._metrics.render(), CONTENT_TYPE)

    async def _footage(self, path: str, asked: Asked) -> Reply:
        return await footage(path, asked, self._manager.ports.values(), self._secret)

    async def _union(self, _asked: Asked) -> Reply:
        return Reply(HTTPStatus.OK, await union(self._manager.ports), CONTENT_TYPE)

    async def _targets(self, _asked: Asked) -> Reply:
        told = [
            {"targets": [f"127.0.0.1:{port}"], "labels": {"runner_id": self._runner_id, "shard_id": shard_id}}
            for shard_id, port in sorted(self._manager.ports.items())
        ]
        return Reply(HTTPStatus.OK, json.dumps(told).encode())


async def _listening(api: LocalApi, wanted: int) -> int:
    for port in range(wanted, wanted + TRIES) if wanted else ():
        try:
            return await api.start(port)
        except OSError:
            continue
    return await api.start(0)
