"""Where the time of a takeover went."""

from datetime import UTC, datetime, timedelta
from typing import Any

from streamward.drills.takeover.ledger import Term
from streamward.drills.takeover.parts import Moves, moves
from streamward.model.ids import CameraId, Generation

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
TERM = Term(CameraId("cam-1"), Generation(2))


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def a_line(seconds: float, event: str, camera: str | None = "cam-1", **values: Any) -> dict[str, Any]:
    return {"ts": at(seconds).isoformat(), "event": event, "camera_uuid": camera, **values}


LOGS = [
    a_line(-5.0, "lease.granted", generation=1),
    a_line(-4.0, "stream.began", duration_ms=500),
    a_line(0.5, "leases.given.back", None),
    a_line(0.7, "lease.granted", generation=2),
    a_line(0.75, "dial.token.taken", "cam-2", version=2),
    a_line(0.8, "dial.token.taken", version=2),
    a_line(0.9, "dial.token.taken", version=2),
    a_line(1.5, "stream.began", duration_ms=600),
    a_line(2.5, "stream.began", duration_ms=900),
    a_line(3.0, "stream.shown", version=2),
]


def test_every_step_counts_from_the_one_before():
    known = moves(TERM, LOGS, Moves(struck_at=NOON, told_at=at(1.6)))
    assert known.parts() == {
        "tree gone, leases given back": 0.5,
        "granted to another": 0.2,
        "dial token": 0.1,
        "given to a Worker": 0.1,
        "dialed, first frame": 0.6,
        "told on the bus": 0.1,
    }


def test_what_nobody_logged_is_left_out():
    silent = [line for line in LOGS if line["event"] != "leases.given.back"]
    known = moves(TERM, silent, Moves(struck_at=NOON, told_at=at(1.6)))
    assert known.parts()["granted to another"] == 0.7
    assert "tree gone, leases given back" not in known.parts()
