"""What a Manager tells the control plane of its streams: all of it, and again what was not taken."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from streamward.model.ids import CameraId
from streamward.protocol.problem import Problem
from streamward.protocol.streams import ReportsAccepted, StreamReport
from streamward.runner.bulletin import MOST_REPORTS, Bulletin
from streamward.runtime import virtual_time
from tests.support.managers import a_host
from tests.support.streams import a_report


@dataclass
class Desk:
    """A control plane that answers as it is told, and keeps what it took in."""

    answer: Any = None
    taken: list[int] = field(default_factory=list)

    async def post(self, _path: str, message: Any, _kind: type[Any], *, within: float) -> Any:
        assert within > 0
        self.taken.append(len(message.items))
        return self.answer


def reports(count: int) -> dict[CameraId, StreamReport]:
    return {CameraId(f"cam-{number}"): a_report(number) for number in range(count)}


async def test_more_than_fits_a_message_goes_in_several():
    async with a_host() as host:
        desk, host.manager.reports = Desk(ReportsAccepted(accepted=1)), reports(2 * MOST_REPORTS + 1)
        await Bulletin(host.manager, desk).tick()
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
        await Bulletin(host.manager, Desk(answer)).tick()
        assert len(host.manager.reports) == left


def test_a_slow_answer_holds_up_no_newer_report_and_counts_when_it_comes():
    async def story() -> None:
        answers = [asyncio.get_running_loop().create_future() for _ in range(2)]

        class Slow(Desk):
            async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
                await super().post(path, message, kind, within=within)
                return await answers[len(self.taken) - 1]

        async with a_host() as host:
            desk = Slow()
            bulletin = Bulletin(host.manager, desk)
            host.manager.reports = reports(2)
            await bulletin.tick()
            host.manager.reports = reports(1)
            await bulletin.tick()
            assert desk.taken == [2, 1]
            answers[0].set_result(ReportsAccepted(accepted=2))
            await asyncio.sleep(0.1)
            assert host.manager.reports == {}
            await bulletin.close()
            assert len(host.manager.reports) == 1, "what was not accepted is kept"

    virtual_time.run(story())
