"""What `streamward up` tells of its cameras: the first, all, and each that changes hands."""

from collections.abc import Sequence
from datetime import datetime

from streamward.protocol.lease_listing import LeaseRow
from streamward.up.progress import Progress
from tests.support.builders import START
from tests.support.fleet_rows import a_row, streaming


class Told:
    """A progress, and what it says of each look."""

    def __init__(self, *, cameras: int) -> None:
        self._rows: Sequence[LeaseRow] = []
        self._progress = Progress(lambda: self._rows, cameras=cameras, since_start=_since)

    def of(self, *rows: LeaseRow) -> list[str]:
        self._rows = rows
        return [line for _ in range(5) for line in self._progress.news()]


def _since(then: datetime) -> float:
    return (then - START).total_seconds()


def test_the_first_camera_and_all_are_told_once():
    told = Told(cameras=2)
    assert told.of(a_row(), streaming(-5, camera="cam-2")) == [], "that is of before the start"
    assert told.of(streaming(2)) == ["the first camera streams, 2.0 s after the start"]
    both = streaming(2), streaming(3, camera="cam-2", runner="runner-b")
    assert told.of(*both) == ["all 2 cameras stream, 3.0 s after the start: 1 at runner-a, 1 at runner-b"]
    assert told.of(*both) == []


def test_a_single_camera_is_told_once():
    told = Told(cameras=1)
    assert told.of(streaming(2)) == ["the camera streams, 2.0 s after the start: 1 at runner-a"]


def test_cameras_that_moved_together_are_told_together_with_their_longest_gap():
    told = Told(cameras=3)
    told.of(*(streaming(2, camera=f"cam-{number}") for number in range(3)))
    moved = [streaming(4 + number, camera=f"cam-{number}", runner="runner-b", version=2) for number in range(2)]
    assert told.of(*moved) == ["2 cameras moved from runner-a to runner-b, away for 3.0 s at most"]
    assert told.of(streaming(9, camera="cam-2", version=2)) == ["cam-2 came back to runner-a, away for 7.0 s at most"]
