"""A first dial is paid for once for each generation, asked for one at a time, and told when it has ended."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any

from streamward.leases.dialing import DialRefusal
from streamward.model.ids import CameraId, Generation, SiteId
from streamward.protocol.dials import DialAnswer, DialsAnswered, DialsFinished
from streamward.runner.dial_tokens import ABSENT_AFTER, ASKERS, JITTER, UNANSWERED, DialTokens
from streamward.runtime.journal import Journal
from tests.support.builders import START
from tests.support.clocks import ManualClock

ONE, TWO, THREE = (CameraId(f"cam-{number}") for number in (1, 2, 3))
SITE = SiteId("site-1")
GO = DialAnswer(camera_uuid="")
CROWDED = DialAnswer(camera_uuid="", reason=DialRefusal.IN_FLIGHT, retry_in_ms=1000)
EMPTY = DialAnswer(camera_uuid="", reason=DialRefusal.EMPTY, retry_in_ms=2500)
MANY = tuple(CameraId(f"cam-{number}") for number in range(1, 9))


@dataclass
class FakeControl:
    """Has tokens, or not."""

    answer: DialAnswer | None = GO
    paths: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)  # dials in each call

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        assert ({each.camera_uuid for each in message.items} <= set(MANY), within > 0) == (True, True)
        self.paths.append(path)
        self.counts.append(len(message.items))
        await asyncio.sleep(0)
        if kind is DialsFinished:
            return DialsFinished(finished=len(message.items))
        return None if self.answer is None else DialsAnswered(items=[self.answer] * len(message.items))


async def test_a_generation_is_paid_for_once():
    control, clock = FakeControl(), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    for generation in (1, 1, 2):
        assert await tokens.take(ONE, SITE, Generation(generation))
    assert len(control.paths) == 2
    assert (tokens.has(ONE, Generation(1)), tokens.has(ONE, Generation(2))) == (False, True)


async def test_a_token_is_spent_on_one_dial():
    tokens = DialTokens(FakeControl(), clock=ManualClock(START), journal=Journal(), random=Random(1))
    assert not tokens.spend(ONE)
    for generation in (1, 2):
        await tokens.take(ONE, SITE, Generation(generation))
        assert [tokens.spend(ONE), tokens.spend(ONE)] == [True, False]
    await tokens.take(TWO, SITE, Generation(1))
    tokens.forget(TWO)
    assert not tokens.spend(TWO)


async def test_two_asks_at_once_are_one():
    control, clock = FakeControl(), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    taken = await asyncio.gather(*(tokens.take(ONE, SITE, Generation(1)) for _ in range(2)))
    assert (sorted(taken), len(control.paths)) == ([False, True], 1)


async def test_cameras_that_are_due_together_are_one_call_and_so_are_dials_that_ended():
    control = FakeControl()
    tokens = DialTokens(control, clock=ManualClock(START), journal=Journal(), random=Random(1))
    assert all(await asyncio.gather(*(tokens.take(each, SITE, Generation(1)) for each in MANY)))
    for each in MANY:
        tokens.ended(each)
    await tokens.tell()
    assert (control.paths, control.counts) == (["/v1/dials", "/v1/dials/done"], [len(MANY), len(MANY)])


async def rest(tokens: DialTokens, clock: ManualClock, camera_id: CameraId = ONE) -> float:
    """Asks in vain; returns the seconds until it is due again, to a hundredth."""
    assert not await tokens.take(camera_id, SITE, Generation(1))
    for hundredths in range(1000):
        if tokens.is_due(camera_id):
            return hundredths / 100
        clock.advance(0.01)
    raise AssertionError("it never asks again")


async def test_an_empty_budget_is_asked_again_after_what_it_says_and_jitter():
    control, clock = FakeControl(answer=EMPTY), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    rests = [await rest(tokens, clock) for _ in range(50)]
    assert all(2.5 <= each <= 2.5 * (1 + JITTER) + 0.01 for each in rests)
    assert max(rests) - min(rests) > 0.5, "two runners that were refused together do not come back together"


async def test_a_control_plane_that_does_not_answer_is_asked_ever_less_often_and_with_jitter():
    control, clock = FakeControl(answer=None), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    rests = [await rest(tokens, clock) for _ in range(6)]
    assert rests[0] <= UNANSWERED.first
    assert all(UNANSWERED.longest / 2 <= each <= UNANSWERED.longest + 0.01 for each in rests[2:])
    assert len(set(rests[2:])) > 1
    control.answer = EMPTY
    assert await rest(tokens, clock) >= 2.5
    control.answer = None
    assert await rest(tokens, clock) <= UNANSWERED.first


async def test_a_dial_that_has_ended_is_told_once_and_only_if_it_was_paid_for():
    control, clock = FakeControl(), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    tokens.ended(ONE)
    await tokens.tell()
    assert control.paths == []
    await tokens.take(ONE, SITE, Generation(1))
    tokens.ended(ONE)
    await tokens.tell()
    await tokens.tell()
    assert control.paths[1:] == ["/v1/dials/done"]
    tokens.ended(ONE)
    tokens.forget(ONE)
    await tokens.tell()
    assert len(control.paths) == 2
    assert not tokens.has(ONE, Generation(1))


async def test_a_camera_that_is_forgotten_while_something_is_asked_of_it_is_nobodys_risk():
    control, clock = FakeControl(), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    taking = asyncio.ensure_future(tokens.take(ONE, SITE, Generation(1)))
    await asyncio.sleep(0)
    tokens.forget(ONE)
    assert await taking
    tokens.ended(ONE)
    telling = asyncio.ensure_future(tokens.tell())
    await asyncio.sleep(0)
    tokens.forget(ONE)
    await telling
    assert control.paths[1:] == ["/v1/dials/done"]


async def test_who_found_too_many_dials_under_way_asks_again_when_one_has_ended():
    control, clock = FakeControl(), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    await tokens.take(ONE, SITE, Generation(1))
    control.answer = CROWDED
    for each in (TWO, THREE):
        assert not await tokens.take(each, SITE, Generation(1))
    tokens.ended(ONE)
    await tokens.tell()
    assert (tokens.is_due(TWO), tokens.is_due(THREE)) == (True, False)
    clock.advance(1.0 + JITTER)
    assert tokens.is_due(THREE)
    control.answer = EMPTY
    assert not await tokens.take(TWO, SITE, Generation(1))
    tokens.ended(ONE)
    tokens.forget(THREE)
    await tokens.tell()
    assert not tokens.is_due(TWO)  # it waits for a token, not for a dial


async def in_line() -> tuple[FakeControl, ManualClock, DialTokens]:
    """Everybody has asked once, and the budget was empty."""
    control, clock = FakeControl(answer=EMPTY), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    for each in MANY:
        assert tokens.is_due(each)
        assert not await tokens.take(each, SITE, Generation(1))
    clock.advance(2.5 * (1 + JITTER))
    return control, clock, tokens


async def test_of_those_who_wait_for_tokens_only_the_first_few_ask():
    control, _clock, tokens = await in_line()
    assert [each for each in MANY if tokens.is_due(each)] == list(MANY[:ASKERS])
    control.answer = GO
    assert await tokens.take(TWO, SITE, Generation(1))
    assert not await tokens.take(MANY[6], SITE, Generation(1))
    due = [each for each in MANY if not tokens.has(each, Generation(1)) and tokens.is_due(each)]
    assert due == [ONE, THREE, MANY[3]]


async def test_another_site_or_somebody_new_waits_for_nobody():
    _control, _clock, tokens = await in_line()
    assert tokens.is_due(CameraId("cam-9"))


async def test_who_is_in_front_and_wanted_no_more_holds_up_nobody():
    _control, clock, tokens = await in_line()
    tokens.forget(ONE)
    assert tokens.is_due(MANY[3])
    clock.advance(ABSENT_AFTER + 0.1)  # nobody of those in front asks
    assert [each for each in MANY[4:] if tokens.is_due(each)] == list(MANY[4:7])


async def test_who_is_forgotten_while_it_is_refused_does_not_stand_in_line():
    control, clock = FakeControl(answer=EMPTY), ManualClock(START)
    tokens = DialTokens(control, clock=clock, journal=Journal(), random=Random(1))
    taking = asyncio.ensure_future(tokens.take(ONE, SITE, Generation(1)))
    await asyncio.sleep(0)
    tokens.forget(ONE)
    assert not await taking
    for each in MANY[1:]:
        await tokens.take(each, SITE, Generation(1))
    clock.advance(2.5 * (1 + JITTER))
    assert [each for each in MANY[1:] if tokens.is_due(each)] == list(MANY[1 : 1 + ASKERS])
