"""What a Manager and its fork server tell each other, one message to a packet.

    Manager ─ Spawn ─→ fork server ─ Spawned | SpawnFailed →     with the Worker's descriptors in the same packet
            ─ Stop ──→                                           SIGTERM, and after the grace SIGKILL to its group
            ← Exited ─                                           once for each that was spawned

A Worker is named by the number under which it was asked for, which is never used again: pids are.
"""

from typing import Annotated

import msgspec

from streamward.protocol import codec
from streamward.protocol.fields import Message

Number = Annotated[int, msgspec.Meta(ge=1)]


class Spawn(Message, frozen=True, tag="spawn"):
    """Manager: start a Worker with these descriptors: its channel, its log, its board; answered by Spawned."""

    worker: Number


class Stop(Message, frozen=True, tag="stop"):
    """Manager: end a Worker, by force after the grace; answered by its Exited."""

    worker: Number
    grace_s: Annotated[float, msgspec.Meta(ge=0, le=600)]


class Loaded(Message, frozen=True, tag="loaded"):
    """Fork server, once: everything is loaded, which took so long."""

    pid: int
    seconds: float


class Spawned(Message, frozen=True, tag="spawned"):
    """Fork server: the Worker runs."""

    worker: Number
    pid: int


class SpawnFailed(Message, frozen=True, tag="spawn-failed"):
    """Fork server: the host has no room for one more process, or whatever else `reason` says."""

    worker: Number
    reason: str


class Exited(Message, frozen=True, tag="exited"):
    """Fork server: a Worker is dead and reaped, and with it its whole group; by its own code or by a signal."""

    worker: Number
    pid: int
    code: int | None = None
    signal: int | None = None


Wish = Spawn | Stop
News = Loaded | Spawned | SpawnFailed | Exited


def read_wish(content: bytes) -> Wish:
    """What the Manager said; raises MalformedMessage."""
    return codec.decode(content, Wish)  # type: ignore[arg-type]  # a union is no class


def read_news(content: bytes) -> News:
    """What the fork server said; raises MalformedMessage."""
    return codec.decode(content, News)  # type: ignore[arg-type]
