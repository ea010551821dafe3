"""Where the time of a takeover went, read from what the processes logged.

    kill ─ released ─→ granted ─ token ─→ added ─→ first frame ─→ told on the bus

Log lines are dated to the millisecond; on one host their clock and the database's are the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from streamward.drills.takeover.ledger import Term

Line = Mapping[str, Any]
Parts = dict[str, float]  # seconds by the part's name, in the order in which they come

RELEASED, GRANTED, TOKEN, ADDED, SHOWN, TOLD = PARTS = (
    "tree gone, leases given back",
    "granted to another",
    "dial token",
    "given to a Worker",
    "dialed, first frame",
    "told on the bus",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moves:
    """The moments of one takeover of one camera; None: nobody said so."""

    struck_at: datetime
    told_at: datetime
    released_at: datetime | None = None
    granted_at: datetime | None = None  # when it was done, not what it is dated
    token_at: datetime | None = None
    added_at: datetime | None = None
    shown_at: datetime | None = None

    def parts(self) -> Parts:
        """How long each step took since the one before it that is known."""
        moments = (self.released_at, self.granted_at, self.token_at, self.added_at, self.shown_at, self.told_at)
        found, before = {}, self.struck_at
        for name, moment in zip(PARTS, moments, strict=True):
            if moment is not None:
                found[name] = round((moment - before).total_seconds(), 3)
                before = moment
        return found


def moves(term: Term, lines: Iterable[Line], known: Moves) -> Moves:
    """What the logs say of a camera on its way into that generation."""
    for line in lines:
        at = datetime.fromisoformat(line["ts"])
        if at < known.struck_at or line.get("camera_uuid") not in {None, term.camera_id}:
            continue
        known = _moved(known, line, at=at, generation=term.generation)
    return known


def _moved(known: Moves, line: Line, *, at: datetime, generation: int) -> Moves:
    match line["event"]:
        case "leases.given.back" if known.released_at is None:
            return replace(known, released_at=at)
        case "lease.granted" if line["generation"] == generation:
            return replace(known, granted_at=at)
        case "dial.token.taken" if line["version"] == generation and known.token_at is None:
            return replace(known, token_at=at)
        case "stream.began" if known.shown_at is None:
            return replace(known, shown_at=at, added_at=at - timedelta(milliseconds=line["duration_ms"]))
    return known
