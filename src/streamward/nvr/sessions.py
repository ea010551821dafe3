"""The sessions that a recorder believes in: those that play, and for a while those that were never given back."""

import math
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Session:
    """One that takes up room."""

    camera: str
    client: str  # address and port
    ends_at: float = math.inf


@dataclass(slots=True)
class Sessions:
    """Counts sessions against a limit; `now` is any clock in seconds."""

    most_at_once: int = 0
    _by_id: dict[str, Session] = field(default_factory=dict)

    def open(self, session_id: str, camera: str, now: float, *, client: str = "?") -> None:
        """A session takes up room from now on."""
        self._by_id[session_id] = Session(camera, client)
        self.most_at_once = max(self.most_at_once, self.count(now))

    def close(self, session_id: str, now: float, *, stale_for: float = 0.0) -> None:
        """It is over, and takes up room for so long still."""
        session = self._by_id.pop(session_id, None)
        if session is not None and stale_for > 0:
            self._by_id[session_id] = replace(session, ends_at=now + stale_for)

    def count(self, now: float, camera: str | None = None) -> int:
        """How many take up room, of one camera or of all."""
        return sum(camera in {None, session.camera} for session in self.list(now))

    def list(self, now: float) -> list[Session]:
        """Those that take up room."""
        for session_id in [each for each, session in self._by_id.items() if session.ends_at <= now]:
            del self._by_id[session_id]
        return [*self._by_id.values()]
