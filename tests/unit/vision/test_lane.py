"""What waits on a camera's way, and what is dropped."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from streamward.vision.decoding import MovingUnits, NumberedUnit, Order
from streamward.vision.lane import MOST_FRAMES, ArrivedUnit, Lane
from streamward.vision.sampling import Sampler


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


def test_where_there_are_no_keyframes_it_is_dropped_up_to_a_recovery_point():
    lane: Lane[str] = Lane(most_units=3)
    for number in range(10):
        lane.offer(replace(unit(number), is_recovery_point=number % 4 == 0))
    assert taken(lane) == [8, 9]


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


def test_of_more_than_a_few_that_are_overdue_the_oldest_give_way():
    lane: Lane[int] = Lane()
    assert [lane.show_overdue(number) for number in range(MOST_FRAMES + 2)] == [*[True] * MOST_FRAMES, False, False]
    assert not lane.show(MOST_FRAMES + 2)  # has the turn of another
    assert [lane.look() for _ in range(MOST_FRAMES + 1)] == [*range(3, MOST_FRAMES + 3), None]
    assert lane.dropped_frames == 3


def test_the_frame_that_moved_is_looked_at_however_long_its_group_was_still():
    chooser, lane = MovingUnits(Sampler(max_fps=6)), Lane[int]()
    group, moved = 250, 4 * 250 + 225  # ten seconds each, and in the fifth something moves after nine
    orders: list[Order] = []
    for number in range(moved + 1):
        size = 20_000 if number % group == 0 else 1500 if number == moved else 100 + number % 7
        came = ArrivedUnit(content=bytes(size), is_keyframe=number % group == 0, arrived_at=number / 25)
        orders = list(chooser.next(NumberedUnit(number, came)))
        if orders and orders[0].is_judged:
            orders = list(chooser.judged(is_moving=False))
        for order in orders:
            chooser.looked(order.unit.unit.arrived_at, is_moving=False)
    shown = [order.unit.number for order in orders if order.is_shown and order.is_overdue]
    assert len(shown) > 3 * MOST_FRAMES
    turns = sum(lane.show_overdue(number) for number in shown)
    assert [lane.look() for _ in range(turns)] == shown[-MOST_FRAMES:]
    assert moved - shown[-1] <= 25 // 6
    assert (lane.look(), lane.dropped_frames) == (None, len(shown) - MOST_FRAMES)


def test_the_keyframe_of_a_group_is_looked_at_before_what_is_overdue_of_it():
    lane: Lane[float] = Lane()
    assert all((lane.show(15.0), lane.show_overdue(15.04), lane.show_overdue(15.08), lane.show(15.12)))
    assert [lane.look() for _ in range(5)] == [15.0, 15.04, 15.08, 15.12, None]


@given(st.lists(st.sampled_from(["show", "show_overdue", "show_overdue", "look"]), max_size=120))
def test_each_turn_finds_a_frame_and_no_frame_is_left_without_one(steps: list[str]):
    lane, turns, shown, looked = Lane[int](), 0, 0, list[int]()
    for step in [*steps, *["look"] * MOST_FRAMES]:
        if step == "look" and turns:
            frame = lane.look()
            assert frame is not None
            looked.append(frame)
            turns -= 1
        elif step != "look":
            turns += getattr(lane, step)(shown)
            shown += 1
        assert turns <= MOST_FRAMES
    assert looked == sorted(set(looked))
    assert (turns, lane.look(), len(looked) + lane.dropped_frames) == (0, None, shown)


def test_what_nobody_comes_to_look_at_is_dropped():
    lane: Lane[str] = Lane()
    lane.offer(unit(0, is_keyframe=True))
    assert all((lane.show_overdue("one"), lane.show("two")))
    lane.miss()
    assert (lane.look(), lane.dropped_frames, taken(lane)) == (None, 2, [0])
    assert lane.show("three")
    assert lane.look() == "three"


def test_another_connection_forgets_what_is_overdue():
    lane: Lane[str] = Lane()
    lane.show_overdue("old")
    lane.clear()
    assert lane.look() is None
