"""The control plane as a runner reaches it, without a network in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from streamward.leases.lease import Owner
from streamward.model.ids import CameraId, Incarnation, RunnerId
from streamward.protocol import codec
from streamward.protocol.problem import Problem
from tests.support.app import ControlUnderTest


class InProcess:
    """One start of a runner's way to the application; it can be away, or lose the answers."""

    def __init__(self, control: ControlUnderTest, runner_id: str, *, incarnation: str = "inc-1") -> None:
        self._client = control.runner(runner_id, incarnation=incarnation)
        self.is_away = False
        self.is_deaf = False
        self.sent: list[Any] = []

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        if self.is_away:
            return None
        self.sent.append(message)
        answer = await self._client.call("POST", path, content=codec.encode(message))
        return None if self.is_deaf else codec.decode(answer.content, Problem if answer.is_error else kind)


class LateLink:
    """One start of a runner's way to the application on `virtual_time`: every answer comes so many seconds late."""

    def __init__(self, control: ControlUnderTest, runner_id: str = "r1", *, late: float) -> None:
        self._control = control
        self._client = control.runner(runner_id)
        self.late = late
        self.paths: list[str] = []  # that were asked for

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        return await self._call("POST", path, kind, within=within, content=codec.encode(message))

    async def get(self, path: str, kind: type[Any], *, within: float) -> Any:
        return await self._call("GET", path, kind, within=within)

    async def _call(self, method: str, path: str, kind: type[Any], *, within: float, **request: Any) -> Any:
        now = asyncio.get_running_loop().time()
        self._control.clock.advance(now - self._control.clock.boot())
        self.paths.append(path)
        answer = await self._client.call(method, path, **request)
        await asyncio.sleep(min(self.late, within))
        return None if self.late > within else codec.decode(answer.content, Problem if answer.is_error else kind)


class Start:
    """One start of a runner, which holds cameras."""

    def __init__(self, control: ControlUnderTest, runner_id: str, incarnation: str) -> None:
        self.owner = Owner(RunnerId(runner_id), Incarnation(incarnation))
        self.client = control.runner(runner_id, incarnation=incarnation)
        self.link = InProcess(control, runner_id, incarnation=incarnation)

    async def take(self, *camera_ids: CameraId) -> None:
        """Registers, and acquires these."""
        runner = {"runner_id": self.owner.runner_id}
        await self.client.post("/v1/runners/register", runner)
        for camera_id in camera_ids:
            lease = {**runner, "camera_uuid": camera_id, "ttl_seconds": 30}
            assert (await self.client.post("/v1/leases/camera/acquire", lease)).status_code == 200

    async def give_back(self) -> None:
        """Everything, as whoever buries it does."""
        await self.client.post("/v1/runners/release-all", {"runner_id": self.owner.runner_id})


@asynccontextmanager
async def started(
    control: ControlUnderTest, *camera_ids: CameraId, number: int = 1, runner_id: str | None = None
) -> AsyncIterator[Start]:
    """That start of a runner, with these cameras until it ends."""
    start = Start(control, runner_id or f"r{number}", f"inc-{number}")
    await start.take(*camera_ids)
    try:
        yield start
    finally:
        await start.give_back()
