"""What a Manager tells the control plane of its streams: all of it, and again what was not taken."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.leases.lease import Owner
from streamward.model.ids import CameraId
from streamward.model.status import StreamState
from streamward.protocol.problem import Problem
from streamward.protocol.streams import ReportsAccepted, StreamReport
from streamward.runner.bulletin import MOST_REPORTS, Bulletin, BulletinParts
from streamward.runtime.journal import Journal
from streamward.runtime.teller import Teller
from tests.support.builders import START, an_owner
from tests.support.managers import Host, a_host

OWNER: Owner = an_owner()


@dataclass
class Desk:
    """A control plane that answers as it is told, and keeps what it took in."""

    answer: Any = None
    taken: list[int] = field(default_factory=list)

    async def post(self, _path: str, message: Any, _kind: type[Any], *, within: float) -> Any:
        assert within > 0
        self.taken.append(len(message.items))
        return self.answer


def a_report(number: int, *, state: StreamState = StreamState.STREAMING) -> StreamReport:
    return StreamReport(camera_uuid=f"cam-{number}", runner_id=OWNER.runner_id, state=state, ts=START)


def reports(count: int) -> dict[CameraId, StreamReport]:
    return {CameraId(f"cam-{number}"): a_report(number) for number in range(count)}


def bulletin(host: Host, desk: Desk) -> Bulletin:
    teller = Teller(MemoryBus(MemoryQueues(host.clock)), journal=Journal(), clock=host.clock)
    return Bulletin(host.manager, OWNER, BulletinParts(control=desk, teller=teller, clock=host.clock))


async def test_more_than_fits_a_message_goes_in_several():
    async with a_host() as host:
        desk, host.manager.reports = Desk(ReportsAccepted(accepted=1)), reports(2 * MOST_REPORTS + 1)
        await bulletin(host, desk).tick()
        assert desk.taken == [MOST_REPORTS, MOST_REPORTS, 1]
        assert host.manager.reports == {}


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        (None, 2),
        (Problem(title="Busy", status=503, detail="busy", reason="busy"), 2),
        (Problem(title="Unauthorized", status=401, detail="who?", reason="token-expired"), 2),
        (Problem(title="Forbidden", status=403, detail="not yours", reason="wrong-runner"), 0),
    ],
)
async def test_what_was_not_taken_is_told_again_unless_it_never_will_be(answer: Problem | None, left: int):
    async with a_host() as host:
        host.manager.reports = reports(2)
        await bulletin(host, Desk(answer)).tick()
        assert len(host.manager.reports) == left
