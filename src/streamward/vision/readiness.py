"""Whether a Worker is ready (S0-029): enough of its cameras run."""

import math
from collections.abc import Sequence

from streamward.model.status import StreamState
from streamward.vision.stream import Condition

FRESH_FOR = 3.0  # seconds since the last frame
JUDGED_OVER = 15.0  # seconds in which a camera must have shown something
UNSEEN = Condition(
    state=StreamState.CONNECTING, substate=None, fps=0.0, last_frame_at=None, error_code=None
)  # a camera that nobody has begun with


def is_ready(conditions: Sequence[Condition], now: float, *, quorum_pct: int) -> bool:
    """Whether at least so many percent of the cameras stream; a shard without cameras has nothing to wait for."""
    running = sum(_runs(condition, now) for condition in conditions)
    return running >= math.ceil(len(conditions) * quorum_pct / 100)


def _runs(condition: Condition, now: float) -> bool:
    if condition.last_frame_at is None:
        return False
    age = now - condition.last_frame_at
    return age < FRESH_FOR or (condition.state is StreamState.STREAMING and age <= JUDGED_OVER)
