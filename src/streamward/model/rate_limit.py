"""How often something may happen: token buckets, one for each key and one for all, and reports that are bounded.

Guaranteed: over any time t no more than burst + rate · t pass, for each key and over all keys; the memory for keys is
bounded, and what is forgotten for that is the key that was used longest ago. Instants are seconds of any one clock.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, TypeVar

MOST_KEYS = 4096  # that are remembered

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Rate:
    """A burst, and how fast it comes back."""

    burst: float
    per_second: float


@dataclass(slots=True)
class TokenBucket:
    """What is left of one burst."""

    rate: Rate
    at: float
    tokens: float = field(init=False)

    def __post_init__(self) -> None:
        self.tokens = self.rate.burst

    def wait(self, now: float) -> float:
        """Seconds until a token is there; 0: one is."""
        self.tokens = min(self.rate.burst, self.tokens + max(0.0, now - self.at) * self.rate.per_second)
        self.at = now
        return max(0.0, (1.0 - self.tokens) / self.rate.per_second)

    def spend(self) -> None:
        """Takes one; to be called when `wait` said 0."""
        self.tokens -= 1.0


class KeyedLimit(Generic[K]):
    """One bucket for each key, and one for all of them together."""

    def __init__(self, *, each: Rate, total: Rate) -> None:
        self._each = each
        self._total_rate = total
        self._total: TokenBucket | None = None
        self._by_key: OrderedDict[K, TokenBucket] = OrderedDict()

    def spend(self, key: K, now: float) -> float:
        """Takes a token of both buckets and returns 0, or takes none and returns in how many seconds there are."""
        self._total = self._total or TokenBucket(self._total_rate, now)
        own = self._by_key.pop(key, None) or TokenBucket(self._each, now)
        self._by_key[key] = own
        if len(self._by_key) > MOST_KEYS:
            self._by_key.popitem(last=False)
        wait = max(own.wait(now), self._total.wait(now))
        if not wait:
            own.spend()
            self._total.spend()
        return wait


class Digest(Generic[K]):
    """Reports of what happens again and again: the first of a key at once, the others in numbers."""

    def __init__(self, *, each: Rate, total: Rate) -> None:
        self._limit = KeyedLimit[K](each=each, total=total)
        self._untold: OrderedDict[K, int] = OrderedDict()

    def count(self, key: K, now: float) -> int:
        """How often it happened since it was last reported, if it is to be reported now; 0: it is not."""
        times = self._untold.pop(key, 0) + 1
        if not self._limit.spend(key, now):
            return times
        self._untold[key] = times
        if len(self._untold) > MOST_KEYS:
            self._untold.popitem(last=False)
        return 0

    def due(self, now: float) -> list[tuple[K, int]]:
        """The keys with unreported occurrences that may report again, each with its number, the oldest first."""
        due = [key for key in self._untold if not self._limit.spend(key, now)]
        return [(key, self._untold.pop(key)) for key in due]
