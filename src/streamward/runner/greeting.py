"""A runner's startup checks: that its events are read, and that its control plane lets it in, before it takes cameras.

Who will never be let in is told why, and what to do about it; a control plane that is away is waited for. An event bus
that is away is not: events wait in spools. One on which no control plane has declared the queue of detections is not
the control plane's, and a runner that used it would stream cameras whose detections are never stored.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from http import HTTPStatus
from itertools import count
from typing import Any, TypeVar

from streamward.model.bus import Bus, BusAway, QueueRefused
from streamward.model.errors import StreamwardError
from streamward.model.ids import RunnerId
from streamward.protocol.events import BATCHER
from streamward.protocol.leases import RegisterRunner, RunnerFlags
from streamward.protocol.problem import Problem
from streamward.protocol.tenants import TENANT_GONE
from streamward.runner.own_leases import Control
from streamward.runtime.hedging import hedged

ASK_WITHIN = 10.0  # seconds; then it is logged that no control plane answers
ASK_EVERY = 1.0  # seconds until a control plane that does not answer is asked again
QUEUE_WITHIN = 15.0  # seconds: a control plane that starts now declares its queues
_SAID_EVERY = 10  # asks
_LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_ENROL = "`streamward runners invite NAME` makes a code, with which `streamward enrol` makes this host known"
_CLOCK = "set this host's clock"
_REMEDIES = {
    TENANT_GONE: f"its data on this host was deleted too; for another tenant {_ENROL}",
    "clock-skew": _CLOCK,
    "token-not-yet-valid": _CLOCK,
    "token-expired": f"`streamward token --runner NAME` makes another for STREAMWARD_TOKEN, or {_ENROL}",
    "incarnation-ended": f"a token is good for one start: take another for STREAMWARD_TOKEN, or {_ENROL}",
}


T = TypeVar("T")


class NotAdmitted(StreamwardError):
    """The control plane will not have this runner."""

    def __init__(self, url: str, problem: Problem) -> None:
        super().__init__(url, problem)
        self.url = url
        self.problem = problem

    def __str__(self) -> str:
        remedy = _REMEDIES.get(self.problem.reason, _ENROL)
        return f"the control plane at {self.url} does not let this runner in ({self.problem.detail}): {remedy}"


class BusNotRead(StreamwardError):
    """Nobody reads what this runner would publish."""

    def __init__(self, bus: str, queue: str) -> None:
        super().__init__(bus, queue)
        self.bus = bus  # without user and password
        self.queue = queue

    def __str__(self) -> str:
        return (
            f"the event bus of this runner ({self.bus}) has no queue {self.queue}, so no control plane uses it and "
            "what the runner detects would never be stored: set STREAMWARD_AMQP_URL as for the control plane, "
            "or, where that has none, run the runner on its host and in its data folder (STREAMWARD_DATA)"
        )


class OtherRunner(StreamwardError):
    """A token of one runner, and the name of another."""

    def __init__(self, *, named: str, proven: str) -> None:
        super().__init__(named, proven)
        self.named = named
        self.proven = proven

    def __str__(self) -> str:
        return (
            f"this host proves to be runner {self.proven}, but STREAMWARD_RUNNER_ID says {self.named}: "
            f"unset it, or make this host known as {self.named}"
        )


def same(named: str | None, proven: RunnerId) -> RunnerId:
    """The runner's id, by its token; raises OtherRunner if it is called otherwise."""
    if named not in (None, proven):
        raise OtherRunner(named=str(named), proven=proven)
    return proven


async def has_reader(bus: Bus, *, name: str, ended: Callable[[], Awaitable[None]]) -> bool:
    """Whether what is published there is read, or the bus is away; not: it was told to end. Raises BusNotRead."""
    give_up_at = asyncio.get_running_loop().time() + QUEUE_WITHIN
    while True:
        try:
            return await unless_ended(bus.waiting(BATCHER.name), ended) is not None
        except BusAway:
            return True
        except QueueRefused:
            if asyncio.get_running_loop().time() >= give_up_at:
                raise BusNotRead(name, BATCHER.name) from None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ASK_EVERY):
                await ended()
                return False


async def greet(control: Control, message: RegisterRunner, *, url: str, ended: Callable[[], Awaitable[None]]) -> bool:
    """Whether it is let in; not: it was told to end before anybody answered. Raises NotAdmitted."""
    for asked in count():
        send = partial(control.post, "/v1/runners/register", message, RunnerFlags, within=ASK_WITHIN)
        answer = await unless_ended(hedged(send, within=ASK_WITHIN), ended)
        if isinstance(answer, RunnerFlags):
            return True
        is_new = isinstance(answer, Problem) and answer.status == HTTPStatus.UNAUTHORIZED and not asked
        if isinstance(answer, Problem) and not is_new:  # a fresh token may not be known everywhere yet
            check(answer, url=url)
        if await waited(1 if is_new else asked, url=url, ended=ended):
            return False
    raise AssertionError


async def unless_ended(call: Coroutine[Any, Any, T], ended: Callable[[], Awaitable[None]]) -> T | None:
    """What the call returns; None: it was cancelled because this process was told to end."""
    calling, ending = asyncio.ensure_future(call), asyncio.ensure_future(ended())
    try:
        await asyncio.wait([calling, ending], return_when=asyncio.FIRST_COMPLETED)
        return calling.result() if calling.done() else None
    finally:
        for each in (calling, ending):
            each.cancel()
        await asyncio.wait([calling, ending])


def check(problem: Problem, *, url: str) -> None:
    """Raises NotAdmitted for a refusal that will not pass."""
    if problem.status < HTTPStatus.INTERNAL_SERVER_ERROR and problem.status not in _LATER:
        raise NotAdmitted(url, problem)


async def waited(asked: int, *, url: str, ended: Callable[[], Awaitable[None]]) -> bool:
    """Until it is worth asking again; says now and then for whom. Returns whether it was told to end meanwhile."""
    if asked % _SAID_EVERY == 0:
        logging.getLogger(__name__).warning(
            "no control plane answers at %s: start one with `streamward control`, or set STREAMWARD_CONTROL_URL", url
        )
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(ASK_EVERY):
            await ended()
            return True
    return False
