"""Until when something may have been made under a lease, for a Manager whose Workers do the making.

A Worker dates by the newest answer that it was fed, so the latest date that anything can have is reckoned by the answer
that led the most. A Worker that ends in good order tells its last date, and one that dies tells nothing.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from streamward.leases.held import Held
from streamward.model.ids import Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Moments:
    """Until when something may have been made under a camera's newest generation, by the database's time."""

    generation: Generation | None = None
    lead: datetime | None = None  # the database's time when boot-time was 0, on the late side
    made_until: datetime | None = None  # as Workers told

    def heard(self, lease: Held) -> "Moments":
        """Events were or will be dated by this answer, too."""
        lead = lease.database_time(0.0)
        if lease.generation != self.generation or self.lead is None:
            return Moments(generation=lease.generation, lead=lead)
        return replace(self, lead=max(lead, self.lead))

    def made(self, until: datetime) -> "Moments":
        """The last event of a Worker."""
        return replace(self, made_until=until if self.made_until is None else max(until, self.made_until))

    def latest(self, now: float) -> datetime | None:
        """The latest moment that anything can have been dated until now; None: nothing was made."""
        return None if self.lead is None else self.lead + timedelta(seconds=now)


NEVER = Moments()
