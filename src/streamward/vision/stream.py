"""How one stream does, and when to tell: the watchdog of a camera without a clock of its own.

    dialing → CONNECTING ──a frame was decoded──→ STREAMING
                  ↑                                  │ no frame for STALL_AFTER, or the connection is lost
                  └──────────── dials again ── DISCONNECTED

Every change is told at once, and how it stands every few seconds. Frames per second are those of the last seconds, so
that a stream that has stopped is seen to slow down.
"""

from collections import deque
from dataclasses import dataclass, field

from streamward.model.status import StreamState, Substate

STALL_AFTER = 4.0  # seconds without a frame
STEADY_AFTER = 30.0  # seconds of frames after which past failures are forgotten
_RECKONED_OVER = 5.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """How a stream stands at one moment."""

    state: StreamState
    substate: Substate | None
    fps: float
    last_frame_at: float | None
    error_code: str | None


@dataclass(slots=True)
class StreamWatch:
    """What is known of one camera's stream; instants are boot-time."""

    summary_every: float = 5.0
    _state: StreamState = StreamState.CONNECTING
    _substate: Substate | None = None
    _error_code: str | None = None
    _last_frame_at: float | None = None
    _streaming_since: float | None = None
    _frames: deque[float] = field(default_factory=deque)
    _told: tuple[StreamState, Substate | None, str | None] | None = None
    _told_at: float = 0.0

    def dialing(self) -> None:
        """A connection is being made."""
        self._state, self._substate = StreamState.CONNECTING, None

    def connected(self) -> None:
        """The camera plays, but nothing could be decoded yet."""
        self._substate = Substate.WAITING_FOR_KEYFRAME

    def frame(self, now: float) -> None:
        """A frame was decoded."""
        if self._state is not StreamState.STREAMING:
            self._state, self._streaming_since = StreamState.STREAMING, now
        self._substate = self._error_code = None
        self._last_frame_at = now
        self._frames.append(now)

    def lost(self, code: str, *, substate: Substate | None = None) -> None:
        """The connection failed or ended."""
        self._state, self._substate, self._error_code = StreamState.DISCONNECTED, substate, code
        self._streaming_since = None

    def is_stalled(self, now: float) -> bool:
        """Whether a stream that should run does not."""
        since = self._last_frame_at
        return self._state is StreamState.STREAMING and since is not None and now - since >= STALL_AFTER

    def is_steady(self, now: float) -> bool:
        """Whether it has run well for so long that past failures do not count."""
        return self._streaming_since is not None and now - self._streaming_since >= STEADY_AFTER

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
