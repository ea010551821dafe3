"""How often a login may be refused: recorders lock accounts, and then nobody gets in.

A credential is known by where it is used, its user and its version. Until it was accepted once, one camera tries it and
all others with the same one wait; so they do after a refusal. The second refusal parks them all for a quarter of an
hour, or until the credential is changed, which makes it another one.
"""

from dataclasses import dataclass, field
from enum import StrEnum

MOST_REFUSED = 2  # logins in PARKED_FOR
PARKED_FOR = 900.0  # seconds
HELD_FOR = 10.0  # seconds for which one try holds the others back


@dataclass(frozen=True, slots=True)
class LoginKey:
    """One credential in one place."""

    host: str
    port: int
    user: str
    version: int


class Permission(StrEnum):
    """Whether a login may be tried."""

    GO = "go"
    WAIT = "wait"  # somebody else is finding out
    PARKED = "parked"


@dataclass(slots=True)
class _Record:
    refused_at: list[float] = field(default_factory=list)
    trying_since: float | None = None
    is_proven: bool = False


@dataclass(slots=True)
class LoginGuard:
    """What is known of each credential; instants are boot-time."""

    _records: dict[LoginKey, _Record] = field(default_factory=dict)

    def ask(self, key: LoginKey, now: float) -> Permission:
        """Whether to dial with this credential now; one that is in doubt is tried by one camera at a time."""
        record = self._records.setdefault(key, _Record())
        record.refused_at = [at for at in record.refused_at if now - at < PARKED_FOR]
        if len(record.refused_at) >= MOST_REFUSED:
            return Permission.PARKED
        if record.is_proven:
            return Permission.GO
        if record.trying_since is not None and now - record.trying_since < HELD_FOR:
            return Permission.WAIT
        record.trying_since = now
        return Permission.GO

    def refused(self, key: LoginKey, now: float) -> None:
        """A camera said no."""
        record = self._records.setdefault(key, _Record())
        record.refused_at.append(now)
        record.trying_since = None
        record.is_proven = False

    def accepted(self, key: LoginKey) -> None:
        """A camera said yes: whatever was refused before was an accident."""
        self._records[key] = _Record(is_proven=True)

    def gave_up(self, key: LoginKey) -> None:
        """A try ended without an answer, so that the next one need not wait for it."""
        if key in self._records:
            self._records[key].trying_since = None

    def parked_until(self, key: LoginKey) -> float | None:
        """When it may be tried again; None: now."""
        record = self._records.get(key)
        if record is None or len(record.refused_at) < MOST_REFUSED:
            return None
        return record.refused_at[-MOST_REFUSED] + PARKED_FOR
