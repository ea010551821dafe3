"""What waits on a camera's way, and what is dropped."""

from streamward.vision.lane import MOST_OVERDUE, ArrivedUnit, Lane


def unit(number: int, *, is_keyframe: bool = False) -> ArrivedUnit:
    return ArrivedUnit(content=str(number).encode(), is_keyframe=is_keyframe, arrived_at=float(number))


def taken(lane: Lane[str]) -> list[int]:
    numbers = []
    while (each := lane.take()) is not None:
        numbers.append(int(each.content))
    return numbers


def test_units_are_decoded_in_their_order():
    lane: Lane[str] = Lane()
    for number in range(3):
        assert lane.offer(unit(number, is_keyframe=number == 0))
    assert taken(lane) == [0, 1, 2]
    assert lane.dropped_units == 0


def test_what_the_decoder_cannot_take_is_dropped_up_to_a_keyframe():
    lane: Lane[str] = Lane(most_units=3)
    for number in range(10):
        lane.offer(unit(number, is_keyframe=number % 4 == 0))
    assert taken(lane) == [8, 9]
    assert lane.dropped_units == 8


def test_an_overflow_at_a_keyframe_goes_on_with_it():
    lane: Lane[str] = Lane(most_units=2)
    for number in range(3):
        lane.offer(unit(number, is_keyframe=number in {0, 2}))
    assert taken(lane) == [2]


def test_only_the_newest_frame_is_looked_at():
    lane: Lane[str] = Lane()
    assert lane.look() is None
    assert lane.show("old")
    assert not lane.show("new")
    assert (lane.look(), lane.look(), lane.dropped_frames) == ("new", None, 1)


def test_a_new_connection_begins_with_nothing():
    lane: Lane[str] = Lane(most_units=1)
    lane.offer(unit(0, is_keyframe=True))
    lane.offer(unit(1))
    lane.show("old")
    lane.clear()
    assert lane.look() is None
    assert lane.offer(unit(5, is_keyframe=True))
    assert taken(lane) == [5]


def test_what_is_overdue_waits_its_turn_and_comes_first():
    lane: Lane[str] = Lane()
    assert all(lane.show_overdue(frame) for frame in ("one", "two"))
    assert lane.show("new")
    assert [lane.look() for _ in range(4)] == ["one", "two", "new", None]


def test_no_more_than_a_few_are_overdue():
    lane: Lane[str] = Lane()
    assert [lane.show_overdue(str(number)) for number in range(MOST_OVERDUE + 1)] == [*[True] * MOST_OVERDUE, False]
    assert lane.dropped_frames == 1
    assert lane.look() == "0"


def test_another_connection_forgets_what_is_overdue():
    lane: Lane[str] = Lane()
    lane.show_overdue("old")
    lane.clear()
    assert lane.look() is None
