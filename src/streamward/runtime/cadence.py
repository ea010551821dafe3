"""A fixed rate: what a tick takes does not delay the ones after it."""

from streamward.runtime.clock import Clock


class Cadence:
    """Instants that are `every` seconds apart on the boot-time clock; those that were missed are skipped."""

    def __init__(self, every: float, *, clock: Clock) -> None:
        self._every = every
        self._clock = clock
        self._due = clock.boot()

    def rest(self) -> float:
        """Seconds from now until the next of them."""
        now = self._clock.boot()
        self._due += self._every
        if self._due <= now:
            self._due = now + self._every
        return self._due - now
