"""A Worker's HTTP on loopback (S0-028 to S0-032): whether it lives and is ready, its metrics, and how it is ended.

What its cameras show is for those who know its secret.
"""

from collections.abc import Awaitable
from http import HTTPStatus
from typing import Protocol, TypeVar

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId
from streamward.model.secret import Secret
from streamward.runner import ring_metrics
from streamward.runner.ending import Ending
from streamward.runner.footage import CLIP_LIMIT, CLIP_SECONDS
from streamward.runner.metrics import CONTENT_TYPE, WorkerMetrics
from streamward.runner.recent import NothingToShow, Recent, TooManyAtOnce
from streamward.runtime.local_http import Asked, LocalApi, Refused, Reply, Route

T = TypeVar("T")

LONGEST_CLIP = 600.0  # seconds


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

    def __init__(self, worker: Examined, ending: Ending, recent: Recent, *, secret: Secret) -> None:
        self._worker = worker
        self._recent = recent
        self._ending = ending
        self._api = LocalApi(
            {
                ("GET", "/healthz"): Route(self._health),
                ("GET", "/ready"): Route(self._ready),
                ("GET", "/metrics"): Route(self._metrics),
                ("GET", "/clip"): Route(self._clip, is_guarded=True),
                ("GET", "/snapshot"): Route(self._snapshot, is_guarded=True),
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
        is_working = self._worker.is_ready and self._worker.is_alive
        return _state("ready", is_so=is_working and not self._ending.is_wanted)

    async def _metrics(self, _asked: Asked) -> Reply:
        rings = ring_metrics.render(self._recent.spans, lost=self._recent.lost())
        return Reply(HTTPStatus.OK, self._worker.metrics.render() + rings, CONTENT_TYPE)

    async def _clip(self, asked: Asked) -> Reply:
        seconds = _seconds(asked.query.get("seconds", "30"))
        clip = await _cut(self._recent.clip(_camera(asked), seconds=seconds))
        length = {CLIP_SECONDS: f"{clip.seconds:.1f}", CLIP_LIMIT: self._recent.limit}
        return Reply(HTTPStatus.OK, clip.content, "video/mp4", length)

    async def _snapshot(self, asked: Asked) -> Reply:
        has_boxes = asked.query.get("boxes", "1") != "0"
        picture = await _cut(self._recent.snapshot(_camera(asked), has_boxes=has_boxes))
        return Reply(HTTPStatus.OK, picture, "image/jpeg")

    async def _drain(self, _asked: Asked) -> Reply:
        self._ending.drain()
        return Reply(HTTPStatus.ACCEPTED, b"{}")

    async def _terminate(self, _asked: Asked) -> Reply:
        self._ending.stop()
        return Reply(HTTPStatus.ACCEPTED, b"{}")


def _camera(asked: Asked) -> CameraId:
    if "camera" not in asked.query:
        raise Refused(HTTPStatus.BAD_REQUEST, "name a camera: ?camera=…")
    return CameraId(asked.query["camera"])


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds <= LONGEST_CLIP:
        raise Refused(HTTPStatus.BAD_REQUEST, f"seconds must be a number up to {LONGEST_CLIP:g}")
    return seconds


async def _cut(cut: Awaitable[T]) -> T:
    try:
        return await cut
    except NothingToShow as error:
        raise Refused(HTTPStatus.NOT_FOUND, str(error)) from error
    except TooManyAtOnce as error:
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, str(error)) from error
    except StreamwardError as error:
        raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from error


def _state(name: str, *, is_so: bool) -> Reply:
    status = HTTPStatus.OK if is_so else HTTPStatus.SERVICE_UNAVAILABLE
    return Reply(status, f'{{"{name}": {str(is_so).lower()}}}'.encode())
