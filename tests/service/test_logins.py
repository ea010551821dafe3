"""A Worker's logins, against the real application: over starts and takeovers, and when nobody answers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

import pytest

from streamward.leases.logins import FRESH_FOR, TRIED_FOR, LoginId, LoginOutcome, Permission, login_of
from streamward.model.ids import CameraId
from streamward.model.secret import Secret
from streamward.model.source_url import Credential, SourceKind, SourceUrl
from streamward.runner.logins import ControlLogins, LocalLogins
from tests.support.app import ControlUnderTest
from tests.support.links import Start, started

ONE, TWO = CameraId("cam-1"), CameraId("cam-2")
LOGIN = LoginId("a" * 64)
GO, PARKED = Permission.GO, Permission.PARKED
ACCEPTED, REFUSED, GAVE_UP = LoginOutcome.ACCEPTED, LoginOutcome.REFUSED, LoginOutcome.GAVE_UP
ADA = Credential(user=Secret("ada"), password=Secret("lovelace"))

T = TypeVar("T")


@pytest.fixture
async def control() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras(ONE, TWO)


class Trying:
    """One start of a runner that holds both cameras, and its logins."""

    def __init__(self, control: ControlUnderTest, begun: Start) -> None:
        self.link = begun.link
        self.give_back = begun.give_back
        self.logins = ControlLogins(begun.owner, begun.link, clock=control.clock)

    async def tries(self, outcome: LoginOutcome, camera_id: CameraId = ONE) -> None:
        assert await soon(self.logins.ask(camera_id, LOGIN)) is GO
        self.logins.told(camera_id, LOGIN, outcome)


@asynccontextmanager
async def start(control: ControlUnderTest, number: int = 1) -> AsyncIterator[Trying]:
    async with started(control, ONE, TWO, number=number) as begun:
        trying = Trying(control, begun)
        yield trying
        await trying.logins.close()


async def soon(coming: Awaitable[T]) -> T:
    async with asyncio.timeout(60):
        return await coming


async def test_two_refusals_park_every_camera_and_every_start(control: ControlUnderTest) -> None:
    async with start(control) as first:
        await first.tries(REFUSED)
        await first.tries(REFUSED, TWO)
        assert [await soon(first.logins.ask(each, LOGIN)) for each in (ONE, TWO)] == [PARKED, PARKED]
    async with start(control, 2) as second:
        assert await soon(second.logins.ask(TWO, LOGIN)) is PARKED
        assert await soon(second.logins.ask(TWO, LoginId("b" * 64))) is GO


async def test_a_parked_login_is_asked_about_once_for_all(control: ControlUnderTest) -> None:
    async with start(control) as one:
        for _ in range(2):
            await one.tries(REFUSED)
        assert await soon(one.logins.ask(ONE, LOGIN)) is PARKED
        sent = len(one.link.sent)
        assert [await soon(one.logins.ask(each, LOGIN)) for each in (ONE, TWO)] == [PARKED, PARKED]
        assert len(one.link.sent) == sent


async def test_a_start_that_dies_before_it_tells_has_used_its_try(control: ControlUnderTest) -> None:
    for number in (1, 2):
        async with start(control, number) as one:
            assert await soon(one.logins.ask(ONE, LOGIN)) is GO
            await one.logins.close()
    async with start(control, 3) as third:
        assert await soon(third.logins.ask(ONE, LOGIN)) is PARKED


async def test_whoever_waits_goes_as_soon_as_the_first_was_accepted(control: ControlUnderTest) -> None:
    async with start(control) as one:
        assert await soon(one.logins.ask(ONE, LOGIN)) is GO
        waiting = asyncio.ensure_future(one.logins.ask(TWO, LOGIN))
        await asyncio.wait([waiting], timeout=0)
        assert not waiting.done()
        one.logins.told(ONE, LOGIN, ACCEPTED)
        assert await soon(waiting) is GO
        sent = len(one.link.sent)
        assert await soon(one.logins.ask(TWO, LOGIN)) is GO
        assert len(one.link.sent) == sent  # nobody was asked


async def test_a_wave_of_asks_is_one_message(control: ControlUnderTest) -> None:
    names = [LoginId(f"{number:064x}") for number in range(50)]
    async with start(control) as one:
        answers = await soon(asyncio.gather(*(one.logins.ask(ONE, name) for name in names)))
        assert set(answers) == {GO}
        assert len(one.link.sent) == 1


async def test_without_a_control_plane_only_what_was_accepted_here_goes(control: ControlUnderTest) -> None:
    async with start(control) as one:
        await one.tries(ACCEPTED)
        control.clock.advance(FRESH_FOR)
        one.link.is_away = True
        await one.tries(ACCEPTED, TWO)
        control.clock.advance(FRESH_FOR)
        await one.tries(REFUSED)
        waiting = asyncio.ensure_future(one.logins.ask(TWO, LOGIN))
        await asyncio.wait([waiting], timeout=0.5)
        assert not waiting.done()
        one.link.is_away = False
        assert await soon(waiting) is GO  # it was told of one refusal


async def test_an_answer_that_was_lost_costs_no_try(control: ControlUnderTest) -> None:
    async with start(control) as one:
        one.link.is_deaf = True
        waiting = asyncio.ensure_future(one.logins.ask(ONE, LOGIN))
        while not one.link.sent:
            await asyncio.wait([waiting], timeout=0.01)
        one.link.is_deaf = False
        assert await soon(waiting) is GO
        one.logins.told(ONE, LOGIN, REFUSED)
        await one.tries(REFUSED)
        assert await soon(one.logins.ask(ONE, LOGIN)) is PARKED


async def test_whoever_stops_waiting_has_given_up(control: ControlUnderTest) -> None:
    async with start(control) as one:
        for _ in range(4):
            asking = asyncio.ensure_future(one.logins.ask(ONE, LOGIN))
            await asyncio.wait([asking], timeout=0)
            asking.cancel()
            await asyncio.wait([asking])
        assert await soon(one.logins.ask(TWO, LOGIN)) is GO


async def test_a_camera_that_is_not_held_waits(control: ControlUnderTest) -> None:
    async with start(control) as one:
        await one.tries(ACCEPTED)
        control.clock.advance(FRESH_FOR)
        await one.give_back()
        waiting = asyncio.ensure_future(one.logins.ask(ONE, LOGIN))
        await asyncio.wait([waiting], timeout=0.5)
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])


async def test_a_camera_that_was_dropped_in_the_middle_holds_the_others_for_a_while_only(
    control: ControlUnderTest,
) -> None:
    async with start(control) as one:
        assert await soon(one.logins.ask(ONE, LOGIN)) is GO
        control.clock.advance(TRIED_FOR)
        assert await soon(one.logins.ask(TWO, LOGIN)) is GO


async def test_alone_a_process_counts_for_itself(control: ControlUnderTest) -> None:
    logins = LocalLogins(clock=control.clock)
    for camera_id in (ONE, TWO):
        assert await soon(logins.ask(camera_id, LOGIN)) is GO
        logins.told(camera_id, LOGIN, REFUSED)
    assert await soon(logins.ask(ONE, LOGIN)) is PARKED
    await logins.close()


@pytest.mark.parametrize(
    ("left", "right", "is_same"),
    [
        ({}, {"port": 554}, True),
        ({"kind": SourceKind.RTSPS}, {"port": 322}, True),
        ({"path": "/1"}, {"path": "/2"}, True),
        ({"host": "192.0.2.8"}, {}, False),
        ({"port": 8554}, {}, False),
    ],
)
def test_a_login_is_known_by_its_place(left: dict[str, object], right: dict[str, object], is_same: bool) -> None:
    place: dict[str, object] = {"kind": SourceKind.RTSP, "host": "192.0.2.7"}
    urls = [SourceUrl(**{**place, **each}) for each in (left, right)]  # type: ignore[arg-type]
    first, second = [login_of(url, ADA) for url in urls]
    assert (first == second) is is_same
