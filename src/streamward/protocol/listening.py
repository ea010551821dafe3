"""Broadcasts as they reach whoever listens: over server-sent events and over a WebSocket.

    id: 42                                          {"id": 42,
    event: detection.new                             "event": "detection.new",
    data: {"detection_id":7, …}                      "data": {"detection_id": 7, …}}

The bodies are S2's (`DetectionNew`, `DetectionBatch`) and `ZoneEventNew`. Beside them come `missed` and `end`, which
have no id.
"""

from collections.abc import Iterable
from typing import Annotated, Any

import msgspec

from streamward.insight.broadcasts import Broadcast
from streamward.protocol.batches import Kind
from streamward.protocol.codec import encode
from streamward.protocol.fields import Id, Message

MEDIA_TYPE = "text/event-stream"
SUBPROTOCOL = "streamward.events"
BEARER = "bearer."  # how a subprotocol begins that is a token: a browser's WebSocket sends no headers
LONGEST_LISTEN = 86_400.0  # seconds
RETRY = 1000  # milliseconds until a browser comes again

ALIVE = b": alive\n\n"
HELLO = f"retry: {RETRY}\n: listening\n\n".encode()  # sent at once, so that proxies pass the answer on

Position = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1, description="the `id` of the last event that was read")]


class ListenQuery(Message, frozen=True):
    """Viewer listens from now on, or to all after an id that is still kept; over a WebSocket too."""

    camera_uuid: Id | None = None
    kind: Kind | None = None
    after: Position | None = None
    timeout_s: (
        Annotated[float, msgspec.Meta(ge=0, le=LONGEST_LISTEN, description="0: ends with what there is")] | None
    ) = None


class SocketEvent(Message, frozen=True):
    """Control plane, over a WebSocket: one broadcast; `id` is null for `missed` and `end`."""

    id: int | None
    event: str
    data: dict[str, Any]


class EventsMissed(Message, frozen=True):
    """Control plane, as `missed`: what was told after `after` and before `next` is not kept, or never was."""

    after: int
    next: int


class ListeningEnded(Message, frozen=True):
    """Control plane, as `end`: why nothing more comes on this connection. Who comes again resumes after the last id."""

    reason: str


def as_stream(told: Iterable[Broadcast]) -> bytes:
    """Broadcasts as server-sent events."""
    return "".join(f"id: {each.seq}\nevent: {each.kind}\ndata: {each.body}\n\n" for each in told).encode()


def as_text(told: Broadcast) -> str:
    """A broadcast as a WebSocket's message."""
    return f'{{"id":{told.seq},"event":"{told.kind}","data":{told.body}}}'


def notice_as_stream(notice: EventsMissed | ListeningEnded) -> bytes:
    """What is said of the connection itself, as a server-sent event."""
    return b"event: " + _name(notice).encode() + b"\ndata: " + encode(notice) + b"\n\n"


def notice_as_text(notice: EventsMissed | ListeningEnded) -> str:
    """The same over a WebSocket."""
    return encode(SocketEvent(id=None, event=_name(notice), data=msgspec.to_builtins(notice))).decode()


def camera_of(told: Broadcast) -> str:
    """Which camera a broadcast is about."""
    named: str = msgspec.json.decode(told.body)["camera_id"]
    return named


def _name(notice: EventsMissed | ListeningEnded) -> str:
    return "missed" if isinstance(notice, EventsMissed) else "end"
