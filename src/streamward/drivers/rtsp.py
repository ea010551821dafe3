"""One RTSP connection of a camera on the event loop: bytes to the sessions without I/O, their findings to a listener.

No thread and no task: chunks come to a protocol, in rounds from the first picture on, and deadlines are timers. What is
wrong with a stream that goes on is told as it happens; a camera that sends something that it did not describe has
changed, and its connection ends.
"""

import asyncio
import contextlib
import secrets
import socket
from collections.abc import Iterable
from dataclasses import replace

from streamward.drivers.rounds import Rounds, Seat
from streamward.model.source_url import Credential, SourceUrl
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.model.video import VideoCodec
from streamward.protocol.rtp.reader import (
    AccessUnit,
    Fact,
    Found,
    PacketRefused,
    PacketsLost,
    PayloadTypeChanged,
    ReaderSpec,
    RtpReader,
    TimestampJumped,
    UnitDropped,
)
from streamward.protocol.rtsp.client import (
    ClientSpec,
    ClientState,
    Described,
    Effect,
    Ended,
    Failed,
    Playing,
    RtspClient,
    Send,
)
from streamward.protocol.rtsp.framing import Interleaved, Skipped
from streamward.protocol.rtsp.sdp import CLOCK_RATE, Track
from streamward.runtime.clock import Clock
from streamward.vision.camera import CameraListener
from streamward.vision.lane import ArrivedUnit

CHANGED_AFTER = 0.5  # seconds of packets that were not described, and no picture
GOODBYE_WITHIN = 1.0  # seconds for the answer to TEARDOWN

_HUNG_UP = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the camera hung up")
_GIVEN_BACK = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the session was given back")
_CHANGED = StreamFailure(
    code=StreamErrorCode.CODEC_UNSUPPORTED,
    detail="the camera began to send something that it had not described",
    is_change=True,
)
_REASONS = {
    StreamErrorCode.TCP_TIMEOUT: "the camera did not answer in time",
    StreamErrorCode.RTSP_AUTH_FAILED: "the camera did not accept who asked",
    StreamErrorCode.RTSP_NOT_FOUND: "the recorder knows no such camera",
    StreamErrorCode.CAMERA_FULL: "the camera has no room for one more session",
    StreamErrorCode.TRANSPORT_UNSUPPORTED: "the camera sends over UDP only, and not over the RTSP connection: switch "
    "RTP over TCP on, or read it through a restreamer (go2rtc with #transport=udp)",
    StreamErrorCode.CORRUPT_STREAM: "what the camera said could not be read",
    StreamErrorCode.URL_FORBIDDEN: "the camera pointed somewhere else, which is not followed",
}


class DialFailed(Exception):
    """Ends a dial."""

    def __init__(self, failure: StreamFailure) -> None:
        super().__init__(failure)
        self.failure = failure


class RtspConnection(asyncio.Protocol):
    """One connection and the sessions on it."""

    def __init__(self, url: SourceUrl, credential: Credential | None, listener: CameraListener, clock: Clock) -> None:
        self._loop = asyncio.get_running_loop()
        self.played: asyncio.Future[None] = self._loop.create_future()
        self.ended: asyncio.Future[StreamFailure] = self._loop.create_future()
        self._gone: asyncio.Future[None] = self._loop.create_future()  # the session is given back, or cannot be
        self._listener = listener
        self._clock = clock
        self._client = RtspClient(ClientSpec(url=url, credential=credential, seed=secrets.token_hex(8)))
        self._reader: RtpReader | None = None
        self._codec, self._clock_rate = VideoCodec.H264, CLOCK_RATE
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0  # boot-time
        self._change: asyncio.TimerHandle | None = None
        self._seat: Seat | None = None  # in the rounds in which its socket is read
        self._has_shown = False  # a whole picture: one before that may only have been joined in its middle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._apply(self._client.start(self._clock.boot()))

    def data_received(self, data: bytes) -> None:
        self._apply(self._client.receive(data, self._clock.boot()))

    def read_in(self, rounds: Rounds, end: socket.socket) -> None:
        """Its socket is read in rounds once the first picture has come."""
        assert self._transport is not None
        self._seat = Seat(rounds, self._transport, end, self.data_received)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the library's signature
        self._stop_timers()
        self._leave_rounds()
        self._end(_HUNG_UP)
        self._is_gone()

    async def close(self, *, within: float = GOODBYE_WITHIN) -> None:
        """Gives the session back if there is one, waits so long for the answer, and closes in any case."""
        if self._transport is None:
            return
        self._leave_rounds()
        if not self._transport.is_closing() and self._client.state is not ClientState.ENDED:
            self._apply(self._client.teardown(self._clock.boot()))
            with contextlib.suppress(asyncio.CancelledError, TimeoutError):
                async with asyncio.timeout(within):
                    await asyncio.shield(self._gone)
        self._transport.abort()
        self._stop_timers()
        for waited in (self.played, self.ended, self._gone):
            waited.cancel()

    def _apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if type(effect) is not Interleaved:
                self._rare(effect)
            elif effect.channel == self._client.channels.rtp and self._reader is not None:  # nearly all are
                found = self._reader.receive(effect.payload)
                if found:
                    self._found(found)
        self._wait_for(self._client.next_deadline())

    def _rare(self, effect: Effect) -> None:
        match effect:
            case Send(content):
                assert self._transport is not None
                self._transport.write(content)
            case Described(track):
                self._described(track)
            case Playing():
                self._listener.playing(self._codec)
                if not self.played.done():
                    self.played.set_result(None)
            case Failed():
                self._end(_told(effect))
                self._is_gone()
            case Ended():
                self._end(_GIVEN_BACK)
                self._is_gone()
            case Skipped(count) if self.played.done():
                self._corrupt(f"{count} bytes between packets could not be read")

    def _described(self, track: Track) -> None:
        assert track.codec is not None
        self._codec, self._clock_rate = track.codec, track.clock_rate
        self._reader = RtpReader(
            ReaderSpec(
                codec=track.codec,
                payload_type=track.payload_type,
                clock_rate=track.clock_rate,
                parameter_sets=track.parameter_sets,
            )
        )

    def _found(self, found: Iterable[Found]) -> None:
        for each in found:
            if isinstance(each, AccessUnit):
                self._unit(each)
            else:
                self._fact(each)

    def _unit(self, found: AccessUnit) -> None:
        if self._change is not None:
            self._change.cancel()
            self._change = None
        if not self._has_shown and not found.is_damaged:
            self._show_first()
        self._listener.unit(
            ArrivedUnit(
                content=found.content,
                is_keyframe=found.is_keyframe,
                arrived_at=self._clock.boot(),
                is_damaged=found.is_damaged,
                is_disposable=found.is_disposable,
                is_recovery_point=found.is_recovery_point,
                shown_at=found.timestamp / self._clock_rate,
            )
        )

    def _show_first(self) -> None:
        self._has_shown = True
        if self._seat is not None:
            self._seat.take()

    def _fact(self, fact: Fact) -> None:
        """Another size, sender or count of packets is no trouble: pictures go on."""
        match fact:
            case PacketsLost(count):
                self._corrupt(f"{count} packets were lost")
            case UnitDropped(reason) if self._has_shown:
                self._corrupt(f"a picture was not whole ({reason})")
            case PacketRefused():
                self._corrupt("what came was no packet")
            case TimestampJumped(seconds):
                detail = f"the camera's timestamps jumped by {seconds:.1f} s"
                self._listener.trouble(StreamFailure(code=StreamErrorCode.TIMESTAMP_JUMP, detail=detail))
            case PayloadTypeChanged() if self._change is None:
                self._change = self._loop.call_later(CHANGED_AFTER, self._end, _CHANGED)

    def _corrupt(self, detail: str) -> None:
        self._listener.trouble(StreamFailure(code=StreamErrorCode.CORRUPT_STREAM, detail=detail))

    def _wait_for(self, deadline: float) -> None:
        """A deadline that moved on, as it does with each packet, is found out when the timer for the old one is due."""
        if self._timer is not None:
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
            self._timer = None
        if deadline != float("inf"):
            self._timer_at = deadline
            self._timer = self._loop.call_later(max(0.0, deadline - self._clock.boot()), self._due)

    def _due(self) -> None:
        self._timer = None
        self._apply(self._client.due(self._clock.boot()))

    def judged(self, failure: StreamFailure) -> StreamFailure:
        """A failure, with what is known of the login at its moment."""
        is_open = self._client.is_login_open and not failure.is_login_refused
        return replace(failure, is_login_open=is_open)

    @property
    def is_unanswered(self) -> bool:
        """Whether the first thing that was said is still all that was said."""
        return self._client.state is ClientState.OPTIONS and not self._client.is_login_open

    def _end(self, failure: StreamFailure) -> None:
        if not self.played.done():
            self.played.set_exception(DialFailed(self.judged(failure)))
        if not self.ended.done():
            self.ended.set_result(self.judged(failure))

    def _is_gone(self) -> None:
        if not self._gone.done():
            self._gone.set_result(None)

    def _leave_rounds(self) -> None:
        if self._seat is not None:
            self._seat.leave()

    def _stop_timers(self) -> None:
        for timer in (self._timer, self._change):
            if timer is not None:
                timer.cancel()


def _told(failed: Failed) -> StreamFailure:
    reason = _REASONS.get(failed.code, "the camera refused")
    if failed.code is StreamErrorCode.CODEC_UNSUPPORTED:
        sent = f"sends {' and '.join(failed.encodings)}" if failed.encodings else "offers no video"
        reason = f"the camera {sent}: set it to H.264, H.265 or MJPEG, or read it through a restreamer that transcodes"
    status = "" if failed.status is None else f", status {failed.status}"
    detail = f"{reason} (at {failed.step.value}{status})"
    return StreamFailure(code=failed.code, detail=detail, is_login_refused=failed.is_login_refused)
