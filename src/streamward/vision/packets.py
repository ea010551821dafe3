"""What the sizes of compressed frames tell without decoding them: where nothing changes there is little to send.

Whether that tells anything depends on the camera. One that sends its noise at a constant rate sends as much of a still
scene as of a crowd: it is called loud, and nobody may rely on its sizes.
"""

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field

REMEMBERED = 100  # frames: a few seconds
FEWEST = 25  # frames before anything is said
LEAST_RISE = 200  # bytes above the usual that stand out at the least: smaller things are not looked for
MOST_SPREAD = 400  # bytes; with a rise above that a small thing would go unnoticed
FORGIVEN_FOR = 15_000  # frames: some ten minutes
_SPREADS = 4  # so many times what frames usually differ by stands out


@dataclass(slots=True)
class Sizes:
    """The latest frames between keyframes of one camera, as long as nothing moved in them."""

    _latest: deque[int] = field(default_factory=deque)
    _ordered: list[int] = field(default_factory=list)
    _rise: int = 0  # what stands out, above the usual
    _learnt: int = 0
    _forgiven: int = 0  # a rise that stood out, and nothing moved
    _forgiven_at: int = 0  # when that many were learnt

    def learn(self, size: int) -> None:
        """One more in which nothing moved, as far as is known."""
        if len(self._latest) == REMEMBERED:
            del self._ordered[bisect_left(self._ordered, self._latest.popleft())]
        self._latest.append(size)
        insort(self._ordered, size)
        self._learnt += 1
        if self._learnt % FEWEST == 0:
            self._rise = max(LEAST_RISE, _SPREADS * self._spread())
        if self._learnt - self._forgiven_at > FORGIVEN_FOR:
            self._forgiven = 0

    @property
    def is_quiet(self) -> bool:
        """Whether a frame with something new in it would stand out."""
        return self._learnt >= FEWEST and self._rise <= MOST_SPREAD

    def stands_out(self, size: int) -> bool:
        """Whether a frame is much larger than they usually are."""
        return size > self._usual + max(self._rise, self._forgiven)

    def forgive(self, size: int) -> None:
        """One stood out, and nothing moved: a clock in the picture, say. The like of it is usual for a while.

        As far as a small thing would still stand out: what needs more is looked into each time.
        """
        rise = (size - self._usual) * 5 // 4
        if self._forgiven < rise <= MOST_SPREAD:
            self._forgiven, self._forgiven_at = rise, self._learnt

    @property
    def _usual(self) -> int:
        """The median: a single large one, by which an encoder makes a still picture better, moves it by nothing."""
        return self._ordered[len(self._ordered) // 2]

    def _spread(self) -> int:
        """How far from it seven in ten of them lie at the most."""
        tail = len(self._ordered) * 15 // 100
        return max(self._ordered[-1 - tail] - self._usual, self._usual - self._ordered[tail])
