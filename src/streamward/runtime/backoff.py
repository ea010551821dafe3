"""How long to wait before trying again: doubling, with jitter, up to a limit.

    failed ─1→ failed ─2→ failed ─4→ … ─longest→          each wait is drawn from the upper half of its step

What worked steadily for a while begins at the first step again; what fails at once after each success does not.
"""

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True, kw_only=True)
class BackoffSpec:
    """The steps, in seconds."""

    first: float = 1.0
    longest: float = 60.0
    steady: float = 60.0  # worked for so long: the next failure is a first one


class Backoff:
    """The waits of one thing that is tried again and again."""

    def __init__(self, spec: BackoffSpec, rng: Random) -> None:
        self._spec = spec
        self._rng = rng
        self._step = spec.first

    def failed(self, *, after: float, longest: float | None = None) -> float:
        """It failed after working for so many seconds; returns how many to wait, up to a lower limit if given."""
        if after >= self._spec.steady:
            self._step = self._spec.first
        step = min(self._step, self._spec.longest if longest is None else min(longest, self._spec.longest))
        self._step = step * 2
        return self._rng.uniform(step / 2, step)
