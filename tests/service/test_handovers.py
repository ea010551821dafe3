"""What a Manager says and does about cameras that change hands."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

from streamward.leases.handover import GIVES_UP_AFTER, TALK_EVERY, TALK_OFTEN, Handing
from streamward.leases.reconcile import Running
from streamward.model.ids import CameraId, Generation
from streamward.protocol.handovers import AskHandovers, HandoverAnswers, WatchCamera
from streamward.protocol.problem import Problem
from streamward.runner.handovers import Handovers
from streamward.runner.known import KnownCameras
from streamward.runner.manager_parts import ManagerParts
from streamward.runner.stream_end import StreamEndPublisher
from streamward.runtime import virtual_time
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, SITE, a_source
from tests.support.holder_talk import holding
from tests.support.nursery import Nursery
from tests.support.tellers import KeepingTeller

TWO = CameraId("cam-2")
NOTHING = HandoverAnswers(watch=[], awaited=[], shown=[])
WATCH = WatchCamera(camera_uuid=TWO, tenant_id="acme", site_id=SITE, version=6, source=a_source())


@dataclass
class Desk:
    """A runner that holds one camera, and a control plane that answers what it is told to."""

    answer: HandoverAnswers | Problem | None = NOTHING
    said: list[AskHandovers] = field(default_factory=list)
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))

    def __post_init__(self) -> None:
        self.clock.advance(10.0)
        self.holder = holding(ONE, now=10.0).holder
        self.places: dict[CameraId, list[Running]] = {}
        parts = ManagerParts(
            holder=self.holder,
            control=self,
            known=KnownCameras(self),
            spawner=Nursery(),
            clock=self.clock,
            journal=Journal(),
            log=2,
            random=Random(1),
            ends=StreamEndPublisher(self.holder.owner, teller=KeepingTeller(self.clock), clock=self.clock),
        )
        self.handovers = Handovers(parts, self, poke=lambda: None)

    def running(self) -> dict[CameraId, list[Running]]:
        return self.places

    async def post(self, path: str, message: AskHandovers, kind: type[Any], *, within: float) -> Any:
        assert (path, kind, within > 0) == ("/v1/handovers", HandoverAnswers, True)
        self.said.append(message)
        return self.answer

    async def get(self, path: str, _kind: type[Any], *, within: float) -> None:
        assert (path, within > 0) == (f"/v1/sites/{SITE}", True)

    def sees(self, *, is_shown: bool) -> None:
        place = Running(worker=1, generation=Generation(7), revision=1, is_shown=is_shown, dialed_at=10.0)
        self.places = {TWO: [place]}


async def test_it_watches_what_it_is_told_and_tells_what_it_sees():
    desk = Desk(HandoverAnswers(watch=[WATCH], awaited=[], shown=[]))
    assert await desk.handovers.tick() == TALK_OFTEN
    assert (desk.handovers.silent, desk.holder.is_watching) == ({TWO: 7}, True)
    desk.sees(is_shown=True)
    await desk.handovers.tick()
    assert [(each.room, each.shown, each.refused) for each in desk.said] == [(9, [], []), (8, [TWO], [])]


async def test_what_it_has_not_seen_in_time_it_watches_no_more():
    desk = Desk(HandoverAnswers(watch=[WATCH], awaited=[], shown=[]))
    await desk.handovers.tick()
    desk.sees(is_shown=False)
    desk.clock.advance(4.0)
    await desk.handovers.tick()
    desk.clock.advance(GIVES_UP_AFTER - 3.9)
    await desk.handovers.tick()
    assert (desk.said[-2].refused, desk.said[-1].refused) == ([], [TWO])
    assert desk.handovers.silent == {}


async def test_its_own_camera_falls_silent_when_its_heir_sees_it_and_it_is_given_back():
    desk = Desk(HandoverAnswers(watch=[], awaited=[], shown=[ONE]))
    await desk.handovers.tick()
    assert (desk.holder.handing, desk.handovers.handed) == (Handing(shown=frozenset({ONE})), {})
    desk.holder.drop(ONE, 10.0)
    assert desk.handovers.handed == desk.handovers.silent == {ONE: 1}


async def test_a_control_plane_that_knows_nothing_of_it_is_not_waited_for():
    desk = Desk()
    assert await desk.handovers.tick() == TALK_EVERY
    assert desk.holder.handing == Handing()
    desk.answer = None
    await desk.handovers.tick()
    assert desk.holder.handing == Handing()
    desk.answer = Problem(title="Not found", status=404, detail="there is no such path", reason="not-found")
    await desk.handovers.tick()
    assert desk.holder.handing is None


def test_what_is_watched_is_watched_without_a_gap_while_answers_are_four_seconds_late():
    @dataclass
    class LateDesk(Desk):
        async def post(self, path: str, message: AskHandovers, kind: type[Any], *, within: float) -> Any:
            await asyncio.sleep(4.0)
            return await super().post(path, message, kind, within=within)

    async def story() -> None:
        desk = LateDesk(HandoverAnswers(watch=[WATCH], awaited=[], shown=[]))
        loop, seen = asyncio.get_running_loop(), set()
        async with Service("handovers", desk.handovers, journal=Journal()):
            while loop.time() < 60.0:
                desk.clock.advance(10.0 + loop.time() - desk.clock.boot())
                seen |= {loop.time() > 4.5 and not desk.handovers.silent}
                await asyncio.sleep(0.1)
        await desk.handovers.close()
        assert seen == {False}
        assert len(desk.said) > 30, "the control plane hears of it every one to two seconds"

    virtual_time.run(story())


async def test_an_older_answer_that_comes_late_changes_nothing():
    first: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    @dataclass
    class Reordering(Desk):
        async def post(self, path: str, message: AskHandovers, kind: type[Any], *, within: float) -> Any:
            self.said.append(message)
            return await first if len(self.said) == 1 else self.answer

    desk = Reordering(HandoverAnswers(watch=[], awaited=[ONE], shown=[]))
    slow = asyncio.ensure_future(desk.handovers.tick())
    await asyncio.sleep(0)
    desk.clock.advance(2.0)
    await desk.handovers.tick()
    first.set_result(NOTHING)
    await slow
    assert desk.holder.handing == Handing(awaited=frozenset({ONE}))
    await desk.handovers.close()
