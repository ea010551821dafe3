"""How one stream does, and when to tell: the watchdog of a camera without a clock of its own.

    dialing → CONNECTING ──a frame was decoded──→ STREAMING
                  ↑                                  │ it stalls, or the connection is lost
                  └──────────── dials again ── DISCONNECTED

A stream stalls when no whole picture comes, when none of those that come can be decoded, or when all of them show the
same. The last is a reason to dial again once: a camera that then still shows that picture is left alone and told as
stalled, for there are scenes in which nothing moves. A stream whose detector fails, or of which at least half of the
frames are corrupt, runs on and is reported as degraded.

How long a camera may send nothing follows from the intervals between its own access units (`StallLimit`): one that
sends a frame every 10 s, or pauses for as long between bursts, is not stalled in between.

Pictures before the first keyframe of a connection are no stall: there are cameras that send one every 20 s and do not
begin with it. That is told after a while, and borne for longer.

Whoever moves it asks at once what is due, so that every change is told, in order and however short it lasts; how it
stands is told every few seconds. Frames per second are those of the last seconds, so that a stream that has stopped is
seen to slow down.
"""

from collections import deque
from dataclasses import dataclass, field, replace

from streamward.model.status import StreamState, Substate
from streamward.model.stream_error import StreamErrorCode, StreamFailure

STALL_AFTER = 4.0  # seconds without an access unit, or without one that could be decoded, of a camera that is not slow
LONGEST_STALL = 60.0  # seconds of the same, of any camera
STALL_INTERVALS = 2.5  # so many of its longest intervals may pass before a slow camera is stalled
SECOND_UNIT_WITHIN = 30.0  # seconds after the first access unit of a camera, while no interval of it is known
REMEMBERED_FOR = 300.0  # seconds for which a long interval counts
REPEATED_WITHIN = 60.0  # seconds between two stalls after which the limit doubles: the camera may only have paused
SILENT_FOR = 2.0  # seconds after PLAY without an access unit that show that the camera itself sends none
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
    error_detail: str | None = None  # the sentence to that code
    retry_at: float | None = None  # when it is dialed again, or its detector loaded again


@dataclass(slots=True)
class StallLimit:
    """After how many seconds without an access unit one camera is stalled; outlives its connections.

    `STALL_INTERVALS` of the longest interval of the last minutes, within `STALL_AFTER` and `LONGEST_STALL`. An interval
    that is longer than the present limit ends in a stall and cannot be measured; so the limit doubles when stalls
    follow each other, and begins anew after one at `LONGEST_STALL`, for then the camera does not resume by itself.
    """

    seconds: float = STALL_AFTER
    first_unit_within: float = STALL_AFTER  # seconds after PLAY; doubles with each stall until an access unit arrives
    is_measured: bool = False
    _confirmed_at: float = 0.0
    _stalled_at: float | None = None

    def arrived(self, interval: float | None, now: float) -> None:
        """An access unit arrived, so many seconds after the one before; None: that is not known."""
        self.first_unit_within = STALL_AFTER
        if interval is None:
            return
        self.is_measured = True
        needed = min(max(STALL_AFTER, STALL_INTERVALS * interval), LONGEST_STALL)
        if needed >= self.seconds or now - self._confirmed_at >= REMEMBERED_FOR:
            self.seconds, self._confirmed_at = needed, now
        elif 2 * needed > self.seconds:
            self._confirmed_at = now

    def stalled(self, now: float, *, has_unit: bool) -> None:
        """No access unit arrived within the limit: since the last one, or, without `has_unit`, since PLAY."""
        self.first_unit_within = _doubled(self.first_unit_within)
        if not has_unit:
            return
        if self._stalled_at is not None and now - self._stalled_at <= REPEATED_WITHIN:
            self.seconds, self._confirmed_at = _doubled(self.seconds), now
        self._stalled_at = now


def _doubled(limit: float) -> float:
    return STALL_AFTER if limit >= LONGEST_STALL else min(2 * limit, LONGEST_STALL)


@dataclass(slots=True)
class _Session:
    """What came since the camera began to play."""

    began_at: float
    unit_at: float  # the latest access unit; at first when it began
    first_unit_at: float | None = None
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
    _error_detail: str | None = None
    _retry_at: float | None = None
    _last_frame_at: float | None = None
    _session: _Session | None = None
    _limit: StallLimit = field(default_factory=StallLimit)
    _unit_at: float | None = None  # the latest access unit of any connection
    _picture: int | None = None  # a sum over the latest one that was looked at
    _unseen_at: float | None = None  # when its detector failed last
    _unseen_detail: str | None = None
    _is_still: bool = False  # that picture was there before and after a new connection
    _frames: deque[float] = field(default_factory=deque)  # when each of the last seconds arrived
    _corruptions: deque[float] = field(default_factory=deque)  # when each of the last seconds was noticed
    _corruption: str | None = None  # the latest of them, for people
    _told: tuple[StreamState, Substate | None, str | None] | None = None
    _told_at: float = 0.0

    def dialing(self) -> None:
        """A connection is being made."""
        self._state, self._substate, self._session = StreamState.CONNECTING, None, None
        self._retry_at = None

    def connected(self, now: float) -> None:
        """The camera plays, but nothing has arrived yet."""
        self._session = _Session(began_at=now, unit_at=now)

    def unit(self, now: float) -> None:
        """An access unit arrived, whether or not it can be decoded."""
        session = self._session
        if session is None:
            return
        self._limit.arrived(self._interval(session, now), now)
        session.unit_at = self._unit_at = now
        if session.first_unit_at is None:
            session.first_unit_at = now
        if session.decoded_at is None:
            self._substate = Substate.WAITING_FOR_KEYFRAME

    def troubled(self, trouble: StreamFailure, now: float) -> None:
        """Something of the stream was lost or wrong, or could not be looked at."""
        code = trouble.code
        if code is StreamErrorCode.CORRUPT_STREAM and self._session is not None:
            self._session.damaged_at = now
            self._corruptions.append(now)
            self._corruption = trouble.detail
        elif code is StreamErrorCode.DETECTOR_FAILED:
            self._unseen_at, self._unseen_detail = now, trouble.detail
        if self._state is StreamState.STREAMING:
            self._judge(now)

    def frame(self, arrived_at: float, now: float) -> None:
        """A frame that arrived then was decoded now."""
        session = self._session
        if session is None:
            return  # of a connection that is no more
        session.decoded_at = now
        if session.first_frame_at is None:
            session.first_frame_at = now
        self._state = StreamState.STREAMING
        self._last_frame_at = arrived_at
        self._frames.append(arrived_at)
        self._judge(now)

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

    def lost(self, failure: StreamFailure, *, substate: Substate | None = None) -> float:
        """The connection failed or ended; returns for how many seconds it had shown frames."""
        self._state, self._substate, self._retry_at = StreamState.DISCONNECTED, substate, None
        self._error_code, self._error_detail = failure.code, failure.detail
        session, self._session = self._session, None
        return 0.0 if session is None else session.ran_for

    def retry(self, at: float) -> None:
        """What was lost is tried again then."""
        self._retry_at = at

    def stall(self, now: float) -> StreamFailure | None:
        """Why a stream that should run does not; LATE, once: it has more time; None: it runs, or need not yet."""
        session = self._session
        if session is None:
            return None
        if now - session.unit_at >= self._silence_allowed(session):
            self._limit.stalled(now, has_unit=session.first_unit_at is not None)
            return session.blame(SILENT, since=session.unit_at)
        if session.decoded_at is None:
            return self._lateness(session, now)
        if now - session.decoded_at >= self._silence_allowed(session):
            return session.blame(UNREADABLE, since=session.decoded_at)
        return self._freeze(session)

    def condition(self, now: float) -> Condition:
        """How it stands."""
        self._forget(now)
        return Condition(
            state=self._state,
            substate=self._substate,
            fps=round(len(self._frames) / self._reckoned_over, 2),
            last_frame_at=self._last_frame_at,
            error_code=self._error_code,
            error_detail=self._error_detail,
            retry_at=self._retry_at,
        )

    def due(self, now: float) -> Condition | None:
        """What is to be told now: a change, or how it stands after a while."""
        mark = (self._state, self._substate, self._error_code)
        if mark == self._told and now - self._told_at < self.summary_every:
            return None
        self._told, self._told_at = mark, now
        return self.condition(now)

    def ended(self, now: float) -> Condition | None:
        """What is announced when the camera is dropped, or announced by another; None: it was disconnected before.

        The stream itself may go on: what is due after that is announced again.
        """
        mark = (StreamState.DISCONNECTED, None, None)
        if self._told is not None and self._told[0] is StreamState.DISCONNECTED:
            return None
        self._told, self._told_at = mark, now
        return replace(
            self.condition(now),
            state=StreamState.DISCONNECTED,
            substate=None,
            error_code=None,
            error_detail=None,
            retry_at=None,
        )

    def _interval(self, session: _Session, now: float) -> float | None:
        """Seconds since the access unit before, if the camera sent nothing in between: nothing was lost or corrupt.

        Since one of another connection only if the camera sent nothing on this one either.
        """
        if session.damaged_at is not None and session.damaged_at >= session.unit_at:
            return None
        if session.first_unit_at is not None:
            return now - session.unit_at
        is_silence = now - session.began_at >= SILENT_FOR
        if self._unit_at is None or not is_silence or now - self._unit_at > LONGEST_STALL:
            return None
        return now - self._unit_at

    def _silence_allowed(self, session: _Session) -> float:
        if session.first_unit_at is None:
            return max(self._limit.seconds, self._limit.first_unit_within)
        return self._limit.seconds if self._limit.is_measured else SECOND_UNIT_WITHIN

    @property
    def _reckoned_over(self) -> float:
        """Seconds over which frames are counted: those of a slow camera are few."""
        return max(_RECKONED_OVER, self._limit.seconds)

    def _lateness(self, session: _Session, now: float) -> StreamFailure | None:
        if session.first_unit_at is None:
            return None
        failure, waited = session.blame(BLIND, since=session.began_at), now - session.first_unit_at
        within = MENDED_WITHIN if failure is BROKEN else FIRST_FRAME_WITHIN
        if waited >= within * self._limit.seconds / STALL_AFTER:  # so that a slow camera has as many frames for it
            return failure
        if waited < STALL_AFTER or session.is_late:
            return None
        session.is_late = True
        if failure is BROKEN:  # each corruption was reported when it was noticed
            self._error_code, self._error_detail = BROKEN.code, BROKEN.detail
            return None
        self._error_code, self._error_detail = LATE.code, LATE.detail
        return LATE

    def _forget(self, now: float) -> None:
        """What is older than the seconds over which frames and corruptions are counted."""
        for instants in (self._frames, self._corruptions):
            while instants and now - instants[0] > self._reckoned_over:
                instants.popleft()

    def _judge(self, now: float) -> None:
        """What is wrong with a stream that runs."""
        self._forget(now)
        if self._is_still:
            self._substate, self._error_code, self._error_detail = Substate.STALLED, FROZEN.code, FROZEN.detail
        elif self._corruptions and 2 * len(self._corruptions) >= len(self._frames):
            self._substate, self._error_code = Substate.DEGRADED, StreamErrorCode.CORRUPT_STREAM
            self._error_detail = self._corruption
        elif self._unseen_at is not None:
            self._substate, self._error_code = Substate.DEGRADED, StreamErrorCode.DETECTOR_FAILED
            self._error_detail = self._unseen_detail
        else:
            self._substate, self._error_code, self._error_detail = None, None, None

    def _freeze(self, session: _Session) -> StreamFailure | None:
        if self._is_still or session.same_since is None or session.same_until - session.same_since < FROZEN_AFTER:
            return None
        self._is_still = True
        return FROZEN
