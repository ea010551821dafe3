"""One listener's connection, whatever it is made of: what it is told, and when it ends.

It ends when its time is over, when the control plane stops, and when its token counts no more: somebody who was revoked
hears nothing that happens a few seconds later. Whoever does not take what is sent for too long is cut off.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from streamward.control.api.problems import problem_of
from streamward.control.feed import Listener
from streamward.insight.broadcasts import Broadcast
from streamward.model.errors import StreamwardError
from streamward.protocol.listening import EventsMissed, ListeningEnded
from streamward.runtime.bell import Bell

CHECK_EVERY = 1.0  # seconds between two looks at its token, and at whether the process ends
ALIVE_EVERY = 14.0  # seconds of silence: proxies cut what is silent for a minute, some for less
SEND_WITHIN = 30.0  # seconds for a reader to take what is sent

TIME_OVER = ListeningEnded(reason="time-over")
STOPPING = ListeningEnded(reason="stopping")


@dataclass(frozen=True, slots=True)
class Alive:
    """Nothing happened for a while."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerCut:
    """A listener did not take what was sent to it."""

    subject: str
    address: str
    position: int  # up to which it may have heard


Heard = list[Broadcast] | EventsMissed | Alive | ListeningEnded


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """What bounds one connection."""

    recheck: Callable[[], object]  # raises what is wrong with its token by now
    bell: Bell
    until: int  # it hears all up to here, whatever its time
    ends_in: float | None  # seconds; None: never


async def hear(listener: Listener, bounds: Hearing) -> AsyncGenerator[Heard]:
    """Everything that a connection is told; the last is always why it ends."""
    loop = asyncio.get_running_loop()
    ends_at = None if bounds.ends_in is None else loop.time() + bounds.ends_in
    said_at = loop.time()
    while True:
        is_over = ends_at is not None and loop.time() >= ends_at
        if bounds.bell.is_closed or (is_over and listener.position >= bounds.until):
            yield STOPPING if bounds.bell.is_closed else TIME_OVER
            return
        try:
            bounds.recheck()
            heard = await listener.next(within=_patience(loop.time(), ends_at))
        except StreamwardError as error:
            yield ListeningEnded(reason=problem_of(error).reason)
            return
        if heard:
            yield heard
        elif loop.time() - said_at >= ALIVE_EVERY:
            yield Alive()
        else:
            continue
        said_at = loop.time()


def _patience(now: float, ends_at: float | None) -> float:
    """A moment at least: what is new is in the feed by then."""
    return CHECK_EVERY if ends_at is None else min(CHECK_EVERY, max(0.0, ends_at - now))
