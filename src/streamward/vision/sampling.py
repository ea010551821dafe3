"""Which frames of a camera are looked at: at most so many a second, and of those each n-th, always the newest.

Time goes by when frames arrived. A camera that sends at a steady 25 frames is looked at evenly at 6: what was let pass
too early is made up for, so that rounding to whole frames loses nothing, but a pause is not.
"""

from dataclasses import dataclass, replace

READ_EVERY = 0.05  # seconds between two rounds in which cameras are read


def can_wait(max_fps: float) -> bool:
    """Whether a camera that is looked at so often may be read in rounds: every other one is enough for it."""
    return 2 * READ_EVERY * max_fps <= 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampler:
    """What was looked at so far."""

    max_fps: float | None = None  # None: as many as come
    every_n: int = 1  # of those that the limit lets pass
    due_at: float | None = None
    skipped: int = 0

    def admit(self, arrived_at: float) -> tuple["Sampler", bool]:
        """Whether to look at a frame that arrived then, and what to know for the next."""
        due_at = self.due_at
        if self.max_fps is not None:
            rest = 1 / self.max_fps
            due_at = arrived_at if due_at is None else due_at
            if arrived_at < due_at:
                return replace(self, due_at=due_at), False
            late = arrived_at - due_at
            due_at = arrived_at + rest - (late if late < rest else 0.0)
        is_wanted = self.skipped + 1 >= self.every_n
        return replace(self, due_at=due_at, skipped=0 if is_wanted else self.skipped + 1), is_wanted
