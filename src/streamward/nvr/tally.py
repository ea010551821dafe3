"""What clients did to a recorder: how often and when, by camera and by the address they came from."""

from collections import Counter, deque
from enum import StrEnum

import msgspec

MOST_TIMES = 1000  # the newest of each kind are kept


class Deed(StrEnum):
    """What is counted."""

    CONNECTED = "connected"  # before it is known what for
    DIALED = "dialed"  # a connection named the camera for the first time
    LOGIN_GOOD = "login_good"  # once for each connection
    LOGIN_BAD = "login_bad"
    SESSION_OPENED = "session_opened"
    SESSION_REFUSED = "session_refused"  # there was no room
    SESSION_ENDED = "session_ended"  # given back
    SESSION_LOST = "session_lost"  # not given back: cut, or forgotten
    DROPPED = "dropped"  # by us: it did not read what it was sent


class Count(msgspec.Struct, frozen=True):
    """How often one thing was done to one camera from one address."""

    camera: str | None
    address: str
    deed: Deed
    total: int
    times: tuple[float, ...]  # seconds since 1970


class Tally:
    """Counts deeds."""

    def __init__(self) -> None:
        self._totals: Counter[tuple[str | None, str, Deed]] = Counter()
        self._times: dict[tuple[str | None, str, Deed], deque[float]] = {}

    def add(self, deed: Deed, *, camera: str | None, address: str, at: float) -> None:
        """Counts one."""
        key = (camera, address, deed)
        self._totals[key] += 1
        self._times.setdefault(key, deque(maxlen=MOST_TIMES)).append(at)

    def total(self, deed: Deed, *, camera: str | None = None, address: str | None = None) -> int:
        """How often, of one camera and address or of all."""
        return sum(
            total
            for (its_camera, its_address, its_deed), total in self._totals.items()
            if its_deed is deed and camera in {None, its_camera} and address in {None, its_address}
        )

    def list(self) -> list[Count]:
        """All that was counted."""
        return [Count(*key, total, tuple(self._times[key])) for key, total in self._totals.items()]

    def reset(self) -> None:
        """Forgets everything."""
        self._totals.clear()
        self._times.clear()
