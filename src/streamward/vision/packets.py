"""What the sizes of compressed frames tell without decoding them: where nothing changes there is little to send.

Whether that tells anything depends on the camera. One that sends its noise at a constant rate sends as much of a still
scene as of a crowd: it is called loud, and nobody may rely on its sizes. One that paints a clock into its picture sends
a little more each second: such moments are learnt, and count as usual.
"""

from bisect import bisect_left, insort
from collections import deque
from dataclasses import dataclass, field

REMEMBERED = 100  # frames: a few seconds
FEWEST = 25  # frames before anything is said
LEAST_RISE = 30  # bytes above the usual that stand out at the least: a plain thing of a few pixels takes as much
MOST_RISE = 200  # bytes; where more was needed to stand out, a small thing would go unnoticed
TICK = 400  # bytes above the usual that a clock takes at most
TICKS = 3  # moments at which it was seen before it is believed
TOLERANCE = 0.06  # seconds by which these may be off: cameras are read every twentieth of a second
_SPREADS = 4  # so many times what frames usually differ by stands out
_FOLLOWED = 0.1  # how much of what a moment is off by is believed


@dataclass(slots=True)
class Sizes:
    """The latest frames between keyframes of one camera, as long as nothing moved in them."""

    _latest: deque[int] = field(default_factory=deque)
    _ordered: list[int] = field(default_factory=list)
    _rise: int = 0  # what stands out, above the usual
    _learnt: int = 0

    def learn(self, size: int) -> None:
        """One more in which nothing moved, as far as is known."""
        if len(self._latest) == REMEMBERED:
            del self._ordered[bisect_left(self._ordered, self._latest.popleft())]
        self._latest.append(size)
        insort(self._ordered, size)
        self._learnt += 1
        if self._learnt % FEWEST == 0:
            self._rise = max(LEAST_RISE, _SPREADS * self._spread())

    @property
    def is_quiet(self) -> bool:
        """Whether a frame with something new in it would stand out."""
        return self._learnt >= FEWEST and self._rise <= MOST_RISE

    def stands_out(self, size: int) -> bool:
        """Whether a frame is larger than they usually are."""
        return size > self._usual + self._rise

    def is_tick(self, size: int) -> bool:
        """Whether a clock could take as much."""
        return size <= self._usual + TICK

    @property
    def _usual(self) -> int:
        """The median: a single large one, by which an encoder makes a still picture better, moves it by nothing."""
        return self._ordered[len(self._ordered) // 2]

    def _spread(self) -> int:
        """How far from it seven in ten of them lie at the most."""
        tail = len(self._ordered) * 15 // 100
        return max(self._ordered[-1 - tail] - self._usual, self._usual - self._ordered[tail])


@dataclass(slots=True)
class Ticks:
    """When within a second the clock in a camera's picture goes on, if it has one."""

    _moment: float = 0.0
    _seen: int = 0

    def learn(self, at: float) -> None:
        """A frame stood out then, and nothing moved."""
        if abs(self._off(at)) > TOLERANCE:
            self._moment, self._seen = at % 1.0, 0
        self._seen += 1

    def expect(self, at: float) -> bool:
        """Whether it goes on then; the moment is followed, for the camera's time is not ours."""
        off = self._off(at)
        is_expected = self._seen >= TICKS and abs(off) <= TOLERANCE
        if is_expected:
            self._moment = (self._moment + _FOLLOWED * off) % 1.0
        return is_expected

    def _off(self, at: float) -> float:
        return (at - self._moment + 0.5) % 1.0 - 0.5
