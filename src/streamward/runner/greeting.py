"""A runner's first words to its control plane: whether it is let in, before anything is started.

Who will never be is told why, and what to do about it; a control plane that is away is waited for.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from itertools import count

from streamward.model.errors import StreamwardError
from streamward.model.ids import RunnerId
from streamward.protocol.leases import RegisterRunner, RunnerFlags
from streamward.protocol.problem import Problem
from streamward.runner.own_leases import Control

ASK_WITHIN = 3.0  # seconds
ASK_EVERY = 1.0  # seconds until a control plane that does not answer is asked again
_SAID_EVERY = 10  # asks
_LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})
_ENROL = "`streamward runners invite NAME` makes a code, with which `streamward enrol` makes this host known"
_CLOCK = "set this host's clock"
_REMEDIES = {
    "clock-skew": _CLOCK,
    "token-not-yet-valid": _CLOCK,
    "token-expired": f"`streamward token --runner NAME` makes another for STREAMWARD_TOKEN, or {_ENROL}",
    "incarnation-ended": f"a token is good for one start: take another for STREAMWARD_TOKEN, or {_ENROL}",
}


class NotAdmitted(StreamwardError):
    """The control plane will not have this runner."""

    def __init__(self, url: str, problem: Problem) -> None:
        super().__init__(url, problem)
        self.url = url
        self.problem = problem

    def __str__(self) -> str:
        remedy = _REMEDIES.get(self.problem.reason, _ENROL)
        return f"the control plane at {self.url} does not let this runner in ({self.problem.detail}): {remedy}"


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


async def greet(control: Control, message: RegisterRunner, *, url: str, ended: Callable[[], Awaitable[None]]) -> bool:
    """Whether it is let in; not: it was told to end before anybody answered. Raises NotAdmitted."""
    for asked in count():
        answer = await control.post("/v1/runners/register", message, RunnerFlags, within=ASK_WITHIN)
        if isinstance(answer, RunnerFlags):
            return True
        is_new = isinstance(answer, Problem) and answer.status == HTTPStatus.UNAUTHORIZED and not asked
        if isinstance(answer, Problem) and not is_new:  # a fresh token may not be known everywhere yet
            check(answer, url=url)
        if await waited(1 if is_new else asked, url=url, ended=ended):
            return False
    raise AssertionError


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
