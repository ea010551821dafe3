"""What a Manager says about leases: a release goes out for what has stopped, and the rest follows."""

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from streamward.leases.holder import Releasing
from streamward.model.ids import CameraId
from streamward.protocol.leases import CamerasReleased, ReleaseCameras
from streamward.runner.lease_line import LeaseLine
from streamward.runtime.journal import Journal
from tests.support.builders import CAMERA, START
from tests.support.clocks import ManualClock
from tests.support.holder_talk import OTHER, holding


@dataclass
class FakeControl:
    """Hears releases, and says nothing to all else."""

    released: list[list[str]] = field(default_factory=list)

    async def post(self, _path: str, message: Any, _kind: type[Any], *, within: float) -> Any:
        assert within > 0
        if not isinstance(message, ReleaseCameras):
            return None
        names = [each.camera_uuid for each in message.cameras]
        assert all(each.made_until == START for each in message.cameras)
        self.released.append(names)
        return CamerasReleased(released=names)


async def test_a_camera_that_takes_its_time_to_stop_holds_up_no_other_lease():
    stopped: set[CameraId] = set()

    async def stopping(releasing: Releasing) -> Releasing:
        leases = (each for each in releasing.leases if each.camera_id in stopped)
        return Releasing(releasing.owner, tuple(replace(each, made_until=START) for each in leases))

    clock, control, heard = ManualClock(START), FakeControl(), list[Any]()
    clock.advance(10.0)
    holder = holding(CAMERA, OTHER, now=10.0).holder
    line = LeaseLine(holder, control, clock=clock, journal=Journal(), stopping=stopping)
    for camera_id in (CAMERA, OTHER):
        holder.drop(camera_id, clock.boot())
    for each in (None, OTHER, None, CAMERA, None):
        stopped |= {each} if each else set()
        line.send_due(heard.append)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        clock.advance(0.6)
    assert control.released == [[OTHER], [CAMERA]]
    assert [type(each) for each in heard] == [CamerasReleased] * 2
    await line.close()
