"""How one stream does, and when to tell: the watchdog of a camera without a clock of its own.

    dialing → CONNECTING ──a frame was decoded──→ STREAMING
                  ↑                                  │ it stalls, or the connection is lost
                  └──────────── dials again ── DISCONNECTED

A stream stalls when no whole picture comes, when none of those that come can be decoded, or when all of them show the
same. The last is a reason to dial again once: a camera that then still shows that picture is left alone and told as
stalled, for there are scenes in which nothing moves. A stream whose detector fails runs on, and is told as degraded.

Pictures before the first keyframe of a connection are no stall: there are cameras that send one every 20 s and do not
begin with it. That is told after a while, and borne for longer.

Whoever moves it asks at once what is due, so that every change is told, in order and however short it lasts; how it
stands is told every few seconds. Frames per second are those of the last seconds, so that a stream that has stopped is
seen to slow down.
"""

from collections import deque
from dataclasses import dataclass, field

from streamward.model.status import StreamState, Substate
from streamward.model.stream_error import StreamErrorCode, StreamFailure

STALL_AFTER = 4.0  # seconds without a whole picture, or without one that could be decoded
FROZEN_AFTER = 25.0  # seconds of the very same picture
FIRST_FRAME_WITHIN = 30.0  # seconds for the first keyframe of a camera that sends pictures
MENDED_WITHIN = 10.0  # seconds for the same, of one of which something was lost or wrong
_RECKONED_OVER = 5.0  # seconds
SEEN_FOR = 5.0  # seconds without a failure after which a detector is trusted again
_DECODED_WITHIN = 1.0  # seconds by which a good picture may be decoded after damage that came behind it

SILENT = StreamFailure(code=StreamErrorCode.FRAME_STALL, detail="no whole picture came for a while")
UNREADABLE = StreamFailure(code=StreamErrorCode.FRAME_STALL, detail="pictures come, but none could be decoded")
FROZEN = StreamFailure(code=StreamErrorCode.FRAME_STALL, detail="the picture is frozen: it does not change at all")
BLIND = StreamFailure(code=StreamErrorCode.NO_KEYFRAME, detail="no picture to begin with came")
LATE = StreamFailure(code=StreamErrorCode.NO_KEYFRAME, detail="still waiting for a picture to begin with")
BROKEN = StreamFailure(code=StreamErrorCode.CORRUPT_STREAM, detail="too much is lost or wrong to show a picture")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How a stream stands at one moment."""

    state: StreamState
    substate: Substate | None
    fps: float
    last_frame_at: float | None
    error_code: str | None


@dataclass(slots=True)
class _Session:
    """What came since the camera began to play."""

    began_at: float
    unit_at: float  # the latest whole picture; at first when it began
    first_frame_at: float | None = None
    decoded_at: float | None = None
    damaged_at: float | None = None
    same_since: float | None = None  # since when looks have shown one picture
    same_until: float = 0.0  # the last of them: what nobody looked at is not frozen
    is_late: bool = False  # no picture to begin with came in time, which was told

    @property
    def ran_for(self) -> float:
        """Seconds from the first to the latest frame."""
        if self.first_frame_at is None or self.decoded_at is None:
            return 0.0
        return self.decoded_at - self.first_frame_at

    def blame(self, stall: StreamFailure, *, since: float) -> StreamFailure:
        """What a stall comes from: damage since the last good thing, if there was any."""
        is_damaged = self.damaged_at is not None and self.damaged_at >= since - _DECODED_WITHIN
        return BROKEN if is_damaged else stall


@dataclass(slots=True)
class StreamWatch:
    """What is known of one camera's stream; instants are boot-time."""

    summary_every: float = 5.0
    _state: StreamState = StreamState.CONNECTING
    _substate: Substate | None = None
    _error_code: str | None = None
    _last_frame_at: float | None = None
    _session: _Session | None = None
    _picture: int | None = None  # a sum over the latest one that was looked at
    _unseen_at: float | None = None  # when its detector failed last
    _is_still: bool = False  # that picture was there before and after a new connection
    _frames: deque[float] = field(default_factory=deque)
    _told: tuple[StreamState, Substate | None, str | None] | None = None
    _told_at: float = 0.0

    def dialing(self) -> None:
        """A connection is being made."""
        self._state, self._substate, self._session = StreamState.CONNECTING, None, None

    def connected(self, now: float) -> None:
        """The camera plays, but nothing could be decoded yet."""
        self._substate = Substate.WAITING_FOR_KEYFRAME
        self._session = _Session(began_at=now, unit_at=now)

    def unit(self, now: float) -> None:
        """A whole picture came, whether or not it can be decoded."""
        if self._session is not None:
            self._session.unit_at = now

    def troubled(self, code: StreamErrorCode, now: float) -> None:
        """Something of the stream was lost or wrong, or could not be looked at."""
        if code is StreamErrorCode.CORRUPT_STREAM and self._session is not None:
            self._session.damaged_at = now
        elif code is StreamErrorCode.DETECTOR_FAILED:
            self._unseen_at = now
            if self._state is StreamState.STREAMING:
                self._judge()

    def frame(self, arrived_at: float, now: float) -> None:
        """A frame that arrived then was decoded now."""
        session = self._session
        if session is None:
            return  # of a connection that is no more
        session.decoded_at = now
        if session.first_frame_at is None:
            session.first_frame_at = now
        self._state = StreamState.STREAMING
        self._judge()
        self._last_frame_at = arrived_at
        self._frames.append(arrived_at)

    def looked(self, picture: int, now: float) -> None:
        """A frame with that sum was looked at."""
        if self._unseen_at is not None and now - self._unseen_at >= SEEN_FOR:
            self._unseen_at = None
        session = self._session
        if session is None:
            return
        session.same_until = now
        if picture != self._picture:
            self._picture, self._is_still, session.same_since = picture, False, now
        elif session.same_since is None:
            session.same_since = now

    def lost(self, code: StreamErrorCode, *, substate: Substate | None = None) -> float:
        """The connection failed or ended; returns for how many seconds it had shown frames."""
        self._state, self._substate, self._error_code = StreamState.DISCONNECTED, substate, code
        session, self._session = self._session, None
        return 0.0 if session is None else session.ran_for

    def stall(self, now: float) -> StreamFailure | None:
        """Why a stream that should run does not; LATE, once: it has more time; None: it runs, or need not yet."""
        session = self._session
        if session is None:
            return None
        if now - session.unit_at >= STALL_AFTER:
            return session.blame(SILENT, since=session.unit_at)
        if session.decoded_at is None:
            return self._lateness(session, now)
        if now - session.decoded_at >= STALL_AFTER:
            return session.blame(UNREADABLE, since=session.decoded_at)
        return self._freeze(session)

    def condition(self, now: float) -> Condition:
        """How it stands."""
        while self._frames and now - self._frames[0] > _RECKONED_OVER:
            self._frames.popleft()
        return Condition(
            state=self._state,
            substate=self._substate,
            fps=round(len(self._frames) / _RECKONED_OVER, 2),
            last_frame_at=self._last_frame_at,
            error_code=self._error_code,
        )

    def due(self, now: float) -> Condition | None:
        """What is to be told now: a change, or how it stands after a while."""
        mark = (self._state, self._substate, self._error_code)
        if mark == self._told and now - self._told_at < self.summary_every:
            return None
        self._told, self._told_at = mark, now
        return self.condition(now)

    def _lateness(self, session: _Session, now: float) -> StreamFailure | None:
        failure, waited = session.blame(BLIND, since=session.began_at), now - session.began_at
        if waited >= (MENDED_WITHIN if failure is BROKEN else FIRST_FRAME_WITHIN):
            return failure
        if waited < STALL_AFTER or session.is_late:
            return None
        session.is_late, self._error_code = True, LATE.code
        return LATE

    def _judge(self) -> None:
        """What is wrong with a stream that runs."""
        if self._is_still:
            self._substate, self._error_code = Substate.STALLED, FROZEN.code
        elif self._unseen_at is not None:
            self._substate, self._error_code = Substate.DEGRADED, StreamErrorCode.DETECTOR_FAILED
        else:
            self._substate, self._error_code = None, None

    def _freeze(self, session: _Session) -> StreamFailure | None:
        if self._is_still or session.same_since is None or session.same_until - session.same_since < FROZEN_AFTER:
            return None
        self._is_still = True
        return FROZEN
