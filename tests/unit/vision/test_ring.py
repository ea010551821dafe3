"""The last seconds of a camera, and how much of them is kept."""

from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Memory, Ring, Shelf
from tests.support.shelves import Noted


def filled(
    units: int, *, seconds: float = 30.0, most_bytes: int = 1 << 20, first: int = 0, shelf: Shelf | None = None
) -> Ring:
    """One unit of ten bytes a second, each fourth a keyframe."""
    ring = Ring(seconds=seconds, most_bytes=most_bytes, shelf=shelf or Memory())
    for number in range(first, first + units):
        ring.add(ArrivedUnit(content=bytes(10), is_keyframe=number % 4 == 0, arrived_at=float(number)))
    return ring


def moments(ring: Ring, seconds: float) -> list[float]:
    return [unit.arrived_at for group in ring.latest(seconds) for unit in group.units()]


def test_a_clip_begins_with_the_keyframe_before_what_is_wanted():
    assert moments(filled(12), 5) == [4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0]
    assert moments(filled(12), 3) == [8.0, 9.0, 10.0, 11.0]


def test_who_wants_more_than_there_is_gets_all():
    assert moments(filled(12), 100) == [float(number) for number in range(12)]


def test_what_came_before_the_first_keyframe_is_not_kept():
    assert moments(filled(6, first=2), 100) == [4.0, 5.0, 6.0, 7.0]
    assert moments(filled(1, first=2), 100) == []


def test_the_oldest_group_goes_when_the_rest_is_long_enough():
    assert moments(filled(15, seconds=10), 100) == [4.0 + number for number in range(11)]


def test_how_much_is_kept_is_known():
    assert [filled(count, seconds=10).span for count in (0, 1, 3, 12, 15)] == [0.0, 0.0, 2.0, 11.0, 10.0]


def test_bytes_are_bounded():
    assert moments(filled(12, most_bytes=60), 100) == [8.0, 9.0, 10.0, 11.0]


def test_a_group_that_is_too_large_is_not_kept_at_all():
    assert moments(filled(3, most_bytes=25), 100) == []


def test_after_another_connection_it_begins_anew():
    ring = filled(5)
    ring.clear()
    assert moments(ring, 100) == []


def test_the_shelf_hears_what_is_whole_and_what_nobody_wants_any_more():
    shelf = Noted()
    ring = filled(15, seconds=10, shelf=shelf)
    assert (shelf.put_at, shelf.forgotten_at) == ([0.0, 4.0, 8.0], [0.0])
    ring.clear()
    assert shelf.forgotten_at == [0.0, 4.0, 8.0]


def test_of_one_that_was_closed_nothing_is_left_and_nothing_more_is_kept():
    shelf = Noted()
    ring = filled(5, shelf=shelf)
    ring.close()
    ring.add(ArrivedUnit(content=b"late", is_keyframe=True, arrived_at=5.0))
    assert (moments(ring, 100), shelf.forgotten_at, shelf.is_closed) == ([], [0.0], True)


def test_a_clip_that_begins_with_a_recovery_point_begins_a_group_earlier():
    ring = Ring(seconds=30.0, most_bytes=1 << 20)
    for number in range(12):
        entry = number % 4 == 0
        ring.add(ArrivedUnit(content=bytes(10), is_keyframe=False, is_recovery_point=entry, arrived_at=float(number)))
    assert moments(ring, 3) == [float(number) for number in range(4, 12)]
    assert moments(ring, 100) == [float(number) for number in range(12)]
