"""A client's side of one RTSP session over one connection, without I/O.

    IDLE → OPTIONS → DESCRIBE → SETUP → PLAY → PLAYING → ENDING → ENDED
             └──────────┴─────────┴───────┴───────┴─────────→ ENDED (Failed)

The first video track that we can decode is set up on interleaved channels. A 401 is answered once if it is a first
challenge, again if the nonce went stale, and is a refused login otherwise. Redirects are not followed. While
playing, the session is kept alive by GET_PARAMETER if the server offers it, else by OPTIONS, and by an empty
receiver report; that nobody answers those is no failure, for whether pictures come is judged elsewhere.

Guaranteed: at most one login is refused in the life of a session; `Failed` or `Ended` comes once and is the last
effect; no effect prints the credential. Not guaranteed: that the server plays what it described.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import msgspec

from streamward.model.source_url import Credential, SourceUrl
from streamward.model.stream_error import StreamErrorCode
from streamward.protocol.rtp import rtcp
from streamward.protocol.rtsp import location, sdp
from streamward.protocol.rtsp.authentication import Login, LoginVerdict
from streamward.protocol.rtsp.framing import Broken, Channels, Interleaved, Skipped, StreamDecoder, interleave
from streamward.protocol.rtsp.message import Headers, Method, Reply, Request, Status, UnsendableMessage

ANSWER_WITHIN = 4.5  # seconds for each step: what blocks is over within 5
GOODBYE_WITHIN = 1.0
DEFAULT_TIMEOUT = 60.0  # seconds, RFC 2326: what a server means that names none
LONGEST_KEEP_ALIVE = 30.0
USER_AGENT = "streamward"

_SESSION = re.compile(r"([\x21-\x3a\x3c-\x7e]{1,256})\s*(?:;(.*))?", re.DOTALL)
_TIMEOUT = re.compile(r"timeout\s*=\s*(\d{1,6})", re.IGNORECASE | re.ASCII)
_CHANNELS = re.compile(r"interleaved\s*=\s*(\d{1,3})(?:-(\d{1,3}))?", re.IGNORECASE | re.ASCII)


class ClientState(Enum):
    """Which answer a client waits for."""

    IDLE = "idle"
    OPTIONS = "options"
    DESCRIBE = "describe"
    SETUP = "setup"
    PLAY = "play"
    PLAYING = "playing"
    ENDING = "ending"  # TEARDOWN was sent
    ENDED = "ended"


class Send(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """Bytes for the server; they may hold a login and are not shown."""

    content: bytes

    def __repr__(self) -> str:
        return f"Send({len(self.content)} bytes)"


class Described(msgspec.Struct, frozen=True):
    """The camera told what it shows: this track is set up next."""

    track: sdp.Track


class Playing(msgspec.Struct, frozen=True):
    """The server granted PLAY: packets come on these channels (a hasty server's have come before)."""

    channels: Channels
    timeout: float  # seconds after which the server forgets a silent client


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The session is over; close the connection."""

    code: StreamErrorCode
    step: ClientState
    status: int | None = None  # the answer that ended it
    encodings: tuple[str, ...] = ()  # of a camera whose video cannot be decoded, as it names them
    is_login_refused: bool = False  # a login was tried, and counts as refused


class Ended(msgspec.Struct, frozen=True):
    """The session was given back; close the connection."""


Effect = Send | Described | Playing | Interleaved | Skipped | Failed | Ended


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSpec:
    """What a session is to show, and how patient it is."""

    url: SourceUrl
    seed: str  # unguessable, of this session alone
    credential: Credential | None = None
    answer_within: float = ANSWER_WITHIN
    user_agent: str = USER_AGENT


_NEXT = {
    ClientState.OPTIONS: Method.OPTIONS,
    ClientState.DESCRIBE: Method.DESCRIBE,
    ClientState.SETUP: Method.SETUP,
    ClientState.PLAY: Method.PLAY,
}
_CODES: dict[int, StreamErrorCode] = {
    Status.UNAUTHORIZED: StreamErrorCode.RTSP_AUTH_FAILED,
    Status.FORBIDDEN: StreamErrorCode.RTSP_AUTH_FAILED,
    Status.NOT_FOUND: StreamErrorCode.RTSP_NOT_FOUND,
    Status.GONE: StreamErrorCode.RTSP_NOT_FOUND,
    Status.UNSUPPORTED_TRANSPORT: StreamErrorCode.TRANSPORT_UNSUPPORTED,
    Status.NOT_ENOUGH_BANDWIDTH: StreamErrorCode.CAMERA_FULL,
    Status.UNAVAILABLE: StreamErrorCode.CAMERA_FULL,
}
_BEARABLE = frozenset({400, 404, 405, 451, 454, 455, 500, 501, 551})  # of OPTIONS: DESCRIBE will tell the truth


class RtspClient:
    """One session; `now` is any clock that never stands still, in seconds."""

    def __init__(self, spec: ClientSpec) -> None:
        self.state = ClientState.IDLE
        self.channels = Channels()
        self._spec = spec
        self._decoder = StreamDecoder(resync=(self.channels.rtp, self.channels.rtcp))
        self._login = Login(spec.credential, spec.seed)
        self._asked: dict[int, Request] = {}  # by CSeq; at most two are under way
        self._cseq = 0
        self._deadline = math.inf
        self._url = str(spec.url)  # of the step under way
        self._aggregate = str(spec.url)
        self._track_url = str(spec.url)
        self._session: str | None = None
        self._timeout = DEFAULT_TIMEOUT
        self._keep_alive = Method.OPTIONS

    @property
    def is_login_open(self) -> bool:
        """Whether a login was sent of which nothing was heard, or nothing good."""
        return self._login.is_open

    def start(self, now: float) -> list[Effect]:
        """The first request."""
        return self._step(ClientState.OPTIONS, now)

    def receive(self, chunk: bytes, now: float) -> list[Effect]:
        """What the server sent, and what follows from it."""
        effects: list[Effect] = []
        for unit in self._decoder.feed(chunk):
            if isinstance(unit, Interleaved):
                if self.state is ClientState.PLAYING or self.state is ClientState.PLAY:
                    effects.append(unit)
            elif self.state is ClientState.ENDED:
                break
            else:
                effects += self._rare(unit, now)
        return effects

    def due(self, now: float) -> list[Effect]:
        """What the passing of time brings about."""
        if now < self._deadline:
            return []
        if self.state is ClientState.PLAYING:
            return self._stay_alive(now)
        if self.state is ClientState.ENDING:
            return self._end()
        return self._fail(StreamErrorCode.TCP_TIMEOUT)

    def next_deadline(self) -> float:
        """When `due` has something to do; infinity: never."""
        return self._deadline

    def teardown(self, now: float) -> list[Effect]:
        """Gives the session back, if there is one."""
        if self.state in {ClientState.ENDING, ClientState.ENDED}:
            return []
        if self._session is None:
            return self._end()
        self.state = ClientState.ENDING
        self._deadline = now + GOODBYE_WITHIN
        return self._ask(Method.TEARDOWN, self._aggregate)

    def _rare(self, unit: Request | Reply | Skipped | Broken, now: float) -> list[Effect]:
        match unit:
            case Reply():
                return self._answered(unit, now)
            case Request():
                return self._requested(unit)
            case Skipped():
                return [unit]
            case Broken():
                return self._fail(StreamErrorCode.CORRUPT_STREAM)

    def _requested(self, request: Request) -> list[Effect]:
        """Servers ask too: a redirect is not followed, a sign of life is given, the rest is declined."""
        if request.method == "REDIRECT":
            return self._fail(StreamErrorCode.URL_FORBIDDEN)
        status = Status.OK if request.method in {Method.OPTIONS, Method.GET_PARAMETER} else Status.NOT_IMPLEMENTED
        cseq = request.headers.cseq
        headers = Headers((("CSeq", str(cseq)),)) if cseq is not None else Headers()
        return [
            Send(Reply(status=status, reason="OK" if status == 200 else "Not Implemented", headers=headers).encode())
        ]

    def _answered(self, reply: Reply, now: float) -> list[Effect]:
        cseq = reply.headers.cseq
        if cseq is None and len(self._asked) == 1:
            cseq = next(iter(self._asked))  # some cameras leave it out; with one question there is no doubt
        request = self._asked.pop(cseq, None) if cseq is not None else None
        if request is None or reply.status < 200:
            if request is not None and cseq is not None:
                self._asked[cseq] = request  # 100 Continue: the answer is still to come
            return []
        if reply.status == Status.UNAUTHORIZED:
            return self._challenged(request, reply)
        self._login.accepted()
        if 300 <= reply.status < 400:
            return self._fail(StreamErrorCode.URL_FORBIDDEN, reply)
        return self._moved_on(request, reply, now)

    def _moved_on(self, request: Request, reply: Reply, now: float) -> list[Effect]:
        if self.state is ClientState.ENDING:
            return self._end() if request.method == Method.TEARDOWN else []
        if self.state is ClientState.PLAYING:
            return self._kept_alive(request, reply)
        is_bearable = self.state is ClientState.OPTIONS and reply.status in _BEARABLE
        if not reply.is_success and not is_bearable:
            is_login_refused = reply.status == Status.FORBIDDEN and self._login.is_tried
            code = _CODES.get(reply.status, StreamErrorCode.RTSP_REFUSED)
            return self._fail(code, reply, is_login_refused=is_login_refused)
        steps: dict[ClientState, Callable[[Reply, float], list[Effect]]] = {
            ClientState.OPTIONS: self._offered,
            ClientState.DESCRIBE: self._described,
            ClientState.SETUP: self._set_up,
            ClientState.PLAY: self._playing,
        }
        return steps[self.state](reply, now)

    def _challenged(self, request: Request, reply: Reply) -> list[Effect]:
        if self.state is ClientState.ENDING:
            return self._end()
        verdict = self._login.challenged(reply.headers.all("WWW-Authenticate"))
        if verdict is LoginVerdict.ANSWER:
            return self._ask(request.method, request.uri)
        is_refused = verdict is LoginVerdict.REFUSED
        return self._fail(StreamErrorCode.RTSP_AUTH_FAILED, reply, is_login_refused=is_refused)

    def _offered(self, reply: Reply, now: float) -> list[Effect]:
        offered = {each.strip().upper() for each in (reply.headers.get("Public") or "").split(",")}
        if Method.GET_PARAMETER in offered:
            self._keep_alive = Method.GET_PARAMETER
        return self._step(ClientState.DESCRIBE, now)

    def _described(self, reply: Reply, now: float) -> list[Effect]:
        try:
            description = sdp.parse(reply.body)
        except sdp.MalformedDescription:
            return self._fail(StreamErrorCode.CORRUPT_STREAM, reply)
        track = description.video()
        if track is None:
            video = tuple(track.encoding for track in description.tracks if track.media == "video" and track.encoding)
            return self._fail(StreamErrorCode.CODEC_UNSUPPORTED, reply, encodings=video)
        base = location.base_of(self._spec.url, reply.headers)
        self._aggregate = location.aggregate_url(self._spec.url, base, description)
        self._track_url = location.track_url(self._spec.url, base, track)
        return [Described(track), *self._step(ClientState.SETUP, now)]

    def _set_up(self, reply: Reply, now: float) -> list[Effect]:
        session = _SESSION.fullmatch((reply.headers.get("Session") or "").strip())
        transport = reply.headers.get("Transport") or ""
        channels = _CHANNELS.search(transport)
        if session is None:
            return self._fail(StreamErrorCode.RTSP_REFUSED, reply)
        if transport and not channels and "TCP" not in transport.upper():
            return self._fail(StreamErrorCode.TRANSPORT_UNSUPPORTED, reply)
        self._session = session[1]
        if timeout := _TIMEOUT.search(session[2] or ""):
            self._timeout = max(1.0, float(timeout[1]))
        if channels:
            first = int(channels[1]) & 0xFF
            self.channels = Channels(first, int(channels[2] or first + 1) & 0xFF)
            self._decoder.resync((self.channels.rtp, self.channels.rtcp))
        return self._step(ClientState.PLAY, now)

    def _playing(self, _reply: Reply, now: float) -> list[Effect]:
        self.state = ClientState.PLAYING
        self._deadline = now + self._keep_alive_every
        return [Playing(self.channels, self._timeout)]

    @property
    def _keep_alive_every(self) -> float:
        return min(LONGEST_KEEP_ALIVE, self._timeout / 2)

    def _stay_alive(self, now: float) -> list[Effect]:
        self._deadline = now + self._keep_alive_every
        self._asked.clear()  # an answer that did not come until now is not waited for
        report = interleave(self.channels.rtcp, rtcp.ReceiverReport(ssrc=0).encode())
        return [*self._ask(self._keep_alive, self._aggregate), Send(report)]

    def _kept_alive(self, request: Request, reply: Reply) -> list[Effect]:
        if reply.status == Status.SESSION_NOT_FOUND:
            return self._fail(StreamErrorCode.RTSP_REFUSED, reply)
        if not reply.is_success and request.method == Method.GET_PARAMETER:
            self._keep_alive = Method.OPTIONS
        return []

    def _step(self, state: ClientState, now: float) -> list[Effect]:
        """Asks for the next thing."""
        self.state = state
        self._deadline = now + self._spec.answer_within
        urls = {ClientState.SETUP: self._track_url, ClientState.PLAY: self._aggregate}
        return self._ask(_NEXT[state], urls.get(state, self._url))

    def _ask(self, method: str, uri: str) -> list[Effect]:
        try:
            request = self._request(method, uri)
            content = request.encode()
        except UnsendableMessage:  # the server told a URL, nonce or session that cannot be said back
            self._session = None
            return self._fail(StreamErrorCode.CORRUPT_STREAM)
        self._asked[self._cseq] = request
        return [Send(content)]

    def _request(self, method: str, uri: str) -> Request:
        self._cseq += 1
        fields = [("CSeq", str(self._cseq)), ("User-Agent", self._spec.user_agent)]
        fields += [("Session", self._session)] if self._session is not None else []
        fields += _EXTRA.get(method, [])
        if (answer := self._login.answer(method, uri)) is not None:
            fields.append(("Authorization", answer))
        return Request(method=method, uri=uri, headers=Headers(tuple(fields)))

    def _fail(
        self,
        code: StreamErrorCode,
        reply: Reply | None = None,
        *,
        is_login_refused: bool = False,
        encodings: tuple[str, ...] = (),
    ) -> list[Effect]:
        """The end, after giving back a session that the server may still count."""
        status = reply.status if reply else None
        failed = Failed(
            code=code, step=self.state, status=status, is_login_refused=is_login_refused, encodings=encodings
        )
        goodbye: list[Effect] = []
        if self._session is not None and self.state is not ClientState.ENDING and status != Status.SESSION_NOT_FOUND:
            goodbye = self._ask(Method.TEARDOWN, self._aggregate)
        self._close()
        return [*goodbye, failed]

    def _end(self) -> list[Effect]:
        self._close()
        return [Ended()]

    def _close(self) -> None:
        self._session = None
        self.state = ClientState.ENDED
        self._deadline = math.inf
        self._asked.clear()


_EXTRA: dict[str, list[tuple[str, str]]] = {
    Method.DESCRIBE: [("Accept", "application/sdp")],
    Method.SETUP: [("Transport", "RTP/AVP/TCP;unicast;interleaved=0-1")],
    Method.PLAY: [("Range", "npt=0.000-")],
}
