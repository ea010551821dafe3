"""A camera's logins on virtual time: tried when its turn has come, and parked when they were refused too often."""

import asyncio
from dataclasses import replace
from random import Random

from streamward.leases.logins import PARKED_FOR, LoginId
from streamward.leases.redialing import Pace
from streamward.model.status import StreamState, Substate
from streamward.model.stream_error import StreamFailure
from streamward.runner.dialing import Dialing
from streamward.runner.logins import LocalLogins
from streamward.runner.watcher import Watcher
from streamward.runtime import virtual_time
from tests.support.clocks import LoopClock
from tests.support.watchers import REFUSED, Story, bad_login, mute, refused

LOGIN = LoginId("a" * 64)


async def unanswered(_watcher: Watcher) -> StreamFailure:
    return replace(REFUSED, is_login_open=True)


def test_a_login_is_refused_twice_and_then_parked():
    async def story() -> None:
        told = Story(bad_login, login=LOGIN)
        await told.run(PARKED_FOR - 60)
        assert len(told.dials) == 2
        condition = told.watcher.stream.condition(LoopClock().boot())
        assert (condition.state, condition.substate) == (StreamState.DISCONNECTED, Substate.PARKED)

    virtual_time.run(story())


def test_a_login_that_is_never_answered_is_parked_too():
    async def story() -> None:
        told = Story(unanswered, login=LOGIN)
        await told.run(PARKED_FOR - 60)
        assert len(told.dials) == 2
        assert told.watcher.stream.condition(LoopClock().boot()).substate is Substate.PARKED

    virtual_time.run(story())


def test_cameras_with_one_credential_share_its_two_tries():
    async def story() -> None:
        logins = LocalLogins(clock=LoopClock())
        many = [Story(bad_login, login=LOGIN, name=f"cam-{number}", logins=logins) for number in range(5)]
        await asyncio.gather(*(each.run(300) for each in many))
        assert sum(len(each.dials) for each in many) == 2

    virtual_time.run(story())


def slowly() -> Dialing:
    """One dial in a minute."""
    return Dialing(clock=LoopClock(), random=Random(1), pace=Pace(per_minute=1, burst=1))


def test_a_login_is_asked_for_when_the_turn_has_come_and_not_while_it_is_waited_for():
    async def story() -> None:
        logins, dialing = LocalLogins(clock=LoopClock()), slowly()
        first = Story(refused, name="cam-0", dialing=dialing)
        same = [Story(mute, name=f"cam-{number}", login=LOGIN, logins=logins, dialing=dialing) for number in (1, 2, 3)]
        await asyncio.gather(*(each.run(50) for each in (first, *same)))
        assert [each.watcher.stream.condition(50).substate for each in same] == [None] * 3

    virtual_time.run(story())


def test_a_parked_login_takes_nobodys_turn():
    async def story() -> None:
        dialing = slowly()
        others = [Story(refused, name=f"cam-{number}", dialing=dialing) for number in range(5)]
        told = Story(bad_login, name="cam-9", login=LOGIN, dialing=dialing)
        await asyncio.gather(*(each.run(PARKED_FOR) for each in (*others, told)))
        assert len(told.dials) == 2
        assert sum(len(each.dials) for each in others) >= 9

    virtual_time.run(story())
