"""A server's side of one connection, without I/O: what the simulated NVR speaks.

    request ─policy.intervene→ reply of the NVR's choice (a fault), or
            ─guard→ 401, ─policy.describe→ 404, ─policy.admit→ 453, or what was asked for

Every reply is handed over as a value, so that the NVR can hold it back, change it or cut it in two. One session per
connection, one video track per session, TCP interleaved only.

Guaranteed: `Stopped` follows every `SetUp` once, unless the connection is closed first. Not guaranteed: any limit; the
policy counts.
"""

import math
import re
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

from streamward.protocol.rtsp.authentication import Guard, Proof
from streamward.protocol.rtsp.framing import Broken, Channels, Interleaved, Skipped, StreamDecoder
from streamward.protocol.rtsp.message import Headers, Method, Reply, Request, RtspError, Status
from streamward.protocol.rtsp.sdp import Description

SESSION_TIMEOUT = 60.0

_INTERLEAVED = re.compile(r"interleaved=(\d{1,3})-(\d{1,3})", re.ASCII)
_PUBLIC = ", ".join(method for method in Method if method is not Method.PAUSE)
_REASONS = {
    Status.OK: "OK",
    Status.BAD_REQUEST: "Bad Request",
    Status.UNAUTHORIZED: "Unauthorized",
    Status.NOT_FOUND: "Not Found",
    Status.NOT_ENOUGH_BANDWIDTH: "Not Enough Bandwidth",
    Status.SESSION_NOT_FOUND: "Session Not Found",
    Status.METHOD_NOT_VALID: "Method Not Valid In This State",
    Status.UNSUPPORTED_TRANSPORT: "Unsupported Transport",
    Status.NOT_IMPLEMENTED: "Not Implemented",
}


class Policy(Protocol):
    """What a server shows, to whom, and how it misbehaves."""

    def intervene(self, request: Request) -> Reply | None:
        """A reply in place of the true one (without CSeq), or None to answer truly."""

    def guard(self, uri: str) -> Guard | None:
        """Who may see what stands at a URI; None: everybody."""

    def describe(self, uri: str) -> Description | None:
        """What stands at a URI, or below it a track; None: nothing."""

    def admit(self, uri: str) -> bool:
        """Whether one more session fits."""


class ServerState(Enum):
    """How far a client has come."""

    READY = "ready"
    SET_UP = "set_up"
    PLAYING = "playing"
    CLOSED = "closed"


class Answered(msgspec.Struct, frozen=True):
    """A reply to send, and the request that it answers."""

    request: Request
    reply: Reply


class SetUp(msgspec.Struct, frozen=True):
    """A session was made and counts from now on."""

    uri: str
    session_id: str


class Started(msgspec.Struct, frozen=True):
    """Send the track's packets on these channels, after the reply that came before this."""

    uri: str
    channels: Channels


class Stopped(msgspec.Struct, frozen=True):
    """The session is over: by TEARDOWN, or because its client was silent for too long."""

    uri: str
    session_id: str
    is_timed_out: bool = False


class Unreadable(msgspec.Struct, frozen=True):
    """The client speaks no RTSP; close the connection."""

    error: RtspError


Effect = Answered | SetUp | Started | Stopped | Interleaved | Unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """What one connection needs to know."""

    policy: Policy
    session_id: str  # unguessable, of this connection alone
    timeout: float = SESSION_TIMEOUT
    name: str = "streamward-nvr"


class RtspServer:
    """One connection; `now` is any clock that never stands still, in seconds."""

    def __init__(self, spec: ServerSpec) -> None:
        self.state = ServerState.READY
        self._spec = spec
        self._decoder = StreamDecoder()
        self._channels = Channels()
        self._uri = ""
        self._heard = math.inf

    def receive(self, chunk: bytes, now: float) -> list[Effect]:
        """What the client sent, and what follows from it."""
        effects: list[Effect] = []
        self._heard = now
        for unit in self._decoder.feed(chunk):
            match unit:
                case Request():
                    effects += self._asked(unit)
                case Interleaved():
                    effects.append(unit)
                case Broken(error):
                    effects.append(Unreadable(error))
                case Reply() | Skipped():
                    pass  # the answer to nothing that we asked
        return effects

    def due(self, now: float) -> list[Effect]:
        """Ends a session whose client was silent for too long."""
        return self._stop(is_timed_out=True) if now >= self.next_deadline() else []

    def next_deadline(self) -> float:
        """When the session ends unless the client is heard of; infinity: there is none."""
        return self._heard + self._spec.timeout if self.state in _IN_SESSION else math.inf

    def _asked(self, request: Request) -> list[Effect]:
        if (reply := self._spec.policy.intervene(request)) or (reply := self._refusal(request)):
            return [self._answer(request, reply)]
        match request.method:
            case Method.OPTIONS:
                return [self._answer(request, _reply(Status.OK, ("Public", _PUBLIC)))]
            case Method.DESCRIBE:
                return [self._answer(request, self._describe(request))]
            case Method.SETUP:
                return self._set_up(request)
            case Method.PLAY:
                return self._play(request)
            case Method.TEARDOWN:
                return [self._answer(request, _reply(Status.OK)), *self._stop()]
            case Method.GET_PARAMETER:
                return [self._answer(request, _reply(Status.OK))]
        return [self._answer(request, _reply(Status.NOT_IMPLEMENTED))]

    def _refusal(self, request: Request) -> Reply | None:
        """401, or 454 for a session that is not this one."""
        guard = self._spec.policy.guard(request.uri) if request.method != Method.OPTIONS else None
        if guard is not None:
            proof = guard.check(request.method, request.uri, request.headers.get("Authorization"))
            if proof is not Proof.RIGHT:
                values = guard.challenge(is_stale=proof is Proof.STALE)
                return _reply(Status.UNAUTHORIZED, *(("WWW-Authenticate", value) for value in values))
        named = (request.headers.get("Session") or "").partition(";")[0].strip()
        is_known = named == self._spec.session_id and self.state in _IN_SESSION
        needs_session = request.method in {Method.PLAY, Method.TEARDOWN} or named
        return _reply(Status.SESSION_NOT_FOUND) if needs_session and not is_known else None

    def _describe(self, request: Request) -> Reply:
        description = self._spec.policy.describe(request.uri)
        if description is None:
            return _reply(Status.NOT_FOUND)
        base = request.uri if request.uri.endswith("/") else request.uri + "/"
        head = _reply(Status.OK, ("Content-Base", base), ("Content-Type", "application/sdp"))
        return Reply(status=head.status, reason=head.reason, headers=head.headers, body=description.encode())

    def _set_up(self, request: Request) -> list[Effect]:
        if self.state in _IN_SESSION:
            return [self._answer(request, _reply(Status.METHOD_NOT_VALID))]
        if self._spec.policy.describe(request.uri) is None:
            return [self._answer(request, _reply(Status.NOT_FOUND))]
        transport = request.headers.get("Transport") or ""
        found = _INTERLEAVED.search(transport)
        channels = Channels(int(found[1]), int(found[2])) if found else Channels()
        if "RTP/AVP/TCP" not in transport or max(channels.rtp, channels.rtcp) > 255:
            return [self._answer(request, _reply(Status.UNSUPPORTED_TRANSPORT))]
        if not self._spec.policy.admit(request.uri):
            return [self._answer(request, _reply(Status.NOT_ENOUGH_BANDWIDTH))]
        self.state, self._uri, self._channels = ServerState.SET_UP, request.uri, channels
        told = f"RTP/AVP/TCP;unicast;interleaved={channels.rtp}-{channels.rtcp}"
        session = f"{self._spec.session_id};timeout={self._spec.timeout:.0f}"
        reply = _reply(Status.OK, ("Transport", told), ("Session", session))
        return [self._answer(request, reply), SetUp(self._uri, self._spec.session_id)]

    def _play(self, request: Request) -> list[Effect]:
        answered = self._answer(request, _reply(Status.OK, ("Session", self._spec.session_id), ("Range", "npt=0.000-")))
        if self.state is ServerState.PLAYING:
            return [answered]
        self.state = ServerState.PLAYING
        return [answered, Started(self._uri, self._channels)]

    def _stop(self, *, is_timed_out: bool = False) -> list[Effect]:
        self.state = ServerState.CLOSED
        return [Stopped(self._uri, self._spec.session_id, is_timed_out)]

    def _answer(self, request: Request, reply: Reply) -> Answered:
        cseq = request.headers.get("CSeq") if request.headers.cseq is not None else None
        fields = ((("CSeq", cseq),) if cseq else ()) + (("Server", self._spec.name),)
        headers = Headers((*fields, *reply.headers.fields))
        return Answered(request, Reply(status=reply.status, reason=reply.reason, headers=headers, body=reply.body))


_IN_SESSION = frozenset({ServerState.SET_UP, ServerState.PLAYING})


def _reply(status: Status, *fields: tuple[str, str]) -> Reply:
    return Reply(status=status, reason=_REASONS.get(status, ""), headers=Headers(fields))
