"""The order of packets."""

from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtp.order import LARGEST_GAP, RESTART_AFTER, Order
from streamward.protocol.rtp.packet import RtpPacket


def ordered(sequences: list[int], *, window: int = 4) -> list[tuple[int, int]]:
    """What comes out, with what is missing before it."""
    order = Order(window)
    arrived = [
        each for number in sequences for each in order.arrive(RtpPacket(96, False, number, 0, 1, memoryview(b"x")))
    ]
    return [(each.packet.sequence, each.lost) for each in arrived]


@given(st.integers(0, 65535), st.permutations(range(1, 9)))
def test_packets_that_came_in_any_order_leave_in_theirs(first, others):
    numbers = [(first + each) & 0xFFFF for each in (0, *others)]
    assert ordered(numbers, window=8) == [((first + each) & 0xFFFF, 0) for each in range(9)]


def test_what_does_not_come_is_lost():
    assert ordered([1, 3, 4, 5, 6, 7, 8]) == [(1, 0), (3, 1), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0)]
    assert ordered([1, 3, 4], window=0) == [(1, 0), (3, 1), (4, 0)]


def test_several_gaps_are_told_one_by_one():
    assert ordered([1, 3, 5, 7, 9, 11])[:3] == [(1, 0), (3, 1)]
    assert ordered([65534, 1, 2], window=1) == [(65534, 0), (1, 2), (2, 0)]


def test_what_came_before_is_dropped():
    assert ordered([5, 6, 6, 5, 4, 7]) == [(5, 0), (6, 0), (7, 0)]


def test_a_wide_gap_is_not_waited_for():
    assert ordered([1, 3, 5 + LARGEST_GAP]) == [(1, 0), (3, 1), (5 + LARGEST_GAP, LARGEST_GAP + 1)]


def test_many_packets_from_the_past_are_a_new_count():
    numbers = [40_000, 40_002, *range(10_000, 10_000 + RESTART_AFTER)]
    assert ordered(numbers) == [(40_000, 0), (40_002, 1), (10_000 + RESTART_AFTER - 1, 0)]


def test_late_packets_now_and_then_are_no_new_count():
    numbers = [number for each in range(100, 100 + 2 * RESTART_AFTER) for number in (each, each - 50)]
    assert ordered(numbers) == [(each, 0) for each in range(100, 100 + 2 * RESTART_AFTER)]


@given(st.lists(st.integers(0, 65535), max_size=200))
def test_what_waits_is_bounded(numbers):
    order = Order(4)
    for number in numbers:
        order.arrive(RtpPacket(96, False, number, 0, 1, memoryview(b"")))
        assert len(order.parked) <= 4
