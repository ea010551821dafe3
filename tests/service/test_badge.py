"""By what token a runner speaks: renewed in good time, asked for again when it was refused."""

import asyncio
import base64
from dataclasses import dataclass, field
from typing import Any

import pytest

from streamward.leases.lease import Owner
from streamward.model.identity import Role
from streamward.model.ids import Incarnation, RunnerId
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.identities import TokenGiven
from streamward.protocol.problem import Problem
from streamward.runner.badge import GivenToken, ProvenToken, Speaker, TokenUnusable, owner_in
from streamward.runtime import virtual_time
from tests.support.builders import START
from tests.support.clocks import ManualClock

REFUSED = Problem(title="Unauthorized", status=401, detail="expired", reason="token-expired")


@dataclass
class FakeControl:
    """Gives a new token each time, and says what it is told to say to the rest."""

    is_away: bool = False
    answer: Any = "fine"
    shown: list[str | None] = field(default_factory=list)
    given: int = 0
    may_give: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_give.set()

    async def post(
        self, path: str, message: Any, kind: type[Any], *, within: float, token: Secret | None = None
    ) -> Any:
        assert within > 0
        if self.is_away:
            return None
        if path == "/v1/tokens":
            await self.may_give.wait()
            self.given += 1
            return TokenGiven(
                access_token=ClearText(Secret(f"token-{self.given}")),
                token_type="Bearer",
                expires_in=900,
                server_time=START,
                subject="r1",
                role=Role.RUNNER,
                tenant_id=None,
                incarnation="inc-1",
            )
        self.shown.append(None if token is None else token.reveal())
        return self.answer

    async def get(self, path: str, kind: type[Any], *, within: float, token: Secret | None = None) -> Any:
        return await self.post(path, None, kind, within=within, token=token)


def speaker(control: FakeControl, clock: ManualClock) -> Speaker:
    return Speaker(control, ProvenToken(control, lambda: "assertion", clock=clock))


async def ask(speaking: Speaker) -> Any:
    return await speaking.post("/v1/x", {}, dict, within=1.0)


async def test_a_token_is_used_until_two_thirds_of_its_life():
    control, clock = FakeControl(), ManualClock(START)
    speaking = speaker(control, clock)
    for seconds in (0, 599, 1, 1):
        clock.advance(seconds)
        assert await ask(speaking) == "fine"
        for _ in range(10):  # turns of the loop in which the next token is given
            await asyncio.sleep(0)
    assert control.shown == ["token-1", "token-1", "token-1", "token-2"]


async def test_a_slow_token_is_asked_for_once_and_keeps_nobody_waiting_who_has_one():
    control, clock = FakeControl(), ManualClock(START)
    speaking = speaker(control, clock)
    assert await asyncio.gather(*(ask(speaking) for _ in range(3))) == ["fine"] * 3
    control.may_give.clear()
    clock.advance(600)
    assert [await ask(speaking), await ask(speaking)] == ["fine", "fine"]
    assert set(control.shown) == {"token-1"}
    control.may_give.set()
    await asyncio.sleep(0)
    while control.shown[-1] == "token-1":
        assert await ask(speaking) == "fine"
        await asyncio.sleep(0)
    assert control.given == 2


async def test_one_that_was_refused_is_asked_for_again():
    control, clock = FakeControl(answer=REFUSED), ManualClock(START)
    speaking = speaker(control, clock)
    assert await ask(speaking) == REFUSED
    control.answer = "fine"
    assert await ask(speaking) == "fine"
    assert await speaking.get("/v1/y", dict, within=1.0) == "fine"
    assert control.shown == ["token-1", "token-2", "token-2"]


async def test_without_a_control_plane_there_is_no_answer_and_the_old_token_is_kept():
    control, clock = FakeControl(is_away=True), ManualClock(START)
    speaking = speaker(control, clock)
    assert await ask(speaking) is None
    control.is_away = False
    assert await ask(speaking) == "fine"


async def test_a_token_that_was_given_stays_what_it_is():
    control = FakeControl(answer=REFUSED)
    speaking = Speaker(control, GivenToken(Secret("mine")))
    assert [await ask(speaking), await ask(speaking)] == [REFUSED, REFUSED]
    assert control.shown == ["mine", "mine"]


def test_the_incarnation_is_read_from_the_token():
    payload = base64.urlsafe_b64encode(b'{"sub":"r1","inc":"inc-7"}').decode().rstrip("=")
    assert owner_in(Secret(f"e30.{payload}.c2ln")) == Owner(RunnerId("r1"), Incarnation("inc-7"))
    for text in ("", "x", "a.b.c", "e30.e30.c2ln"):
        with pytest.raises(TokenUnusable, match="no runner's"):
            owner_in(Secret(text))


async def test_a_given_token_that_counts_no_more_is_told_of_once(caplog: pytest.LogCaptureFixture):
    given = GivenToken(Secret("mine"))
    for _ in range(2):
        given.refused(Problem(title="Unauthorized", status=401, detail="the token has expired", reason="token-expired"))
    (told,) = caplog.messages
    assert "counts no more (the token has expired): start again with another" in told
    assert "mine" not in told


def test_a_token_that_takes_seconds_is_waited_for():
    async def story() -> None:
        control = FakeControl()
        control.may_give.clear()
        asyncio.get_running_loop().call_later(4.0, control.may_give.set)
        assert await ask(speaker(control, ManualClock(START))) == "fine"
        assert asyncio.get_running_loop().time() < 4.1

    virtual_time.run(story())
