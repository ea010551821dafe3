"""When to tell of what is wrong with a stream that goes on: at once, then every few seconds with how often it was."""

from collections import Counter
from dataclasses import dataclass, field, replace

from streamward.model.stream_error import StreamErrorCode, StreamFailure

TELL_EVERY = 5.0  # seconds


@dataclass(slots=True)
class Troubles:
    """One camera's; instants are boot-time."""

    _told_at: dict[StreamErrorCode, float] = field(default_factory=dict)
    _untold: Counter[StreamErrorCode] = field(default_factory=Counter)

    def heard(self, trouble: StreamFailure, now: float) -> StreamFailure | None:
        """What is to be told of it now; None: nothing, it is counted."""
        told_at = self._told_at.get(trouble.code)
        if told_at is not None and now - told_at < TELL_EVERY:
            self._untold[trouble.code] += 1
            return None
        self._told_at[trouble.code] = now
        before = self._untold.pop(trouble.code, 0)
        return replace(trouble, detail=f"{trouble.detail}, and {before} times since last told") if before else trouble
