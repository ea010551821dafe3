"""Which frames are decoded and which are looked at, mode by mode."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from streamward.model.video import DecodeMode
from streamward.vision.decoding import DOUBT_FOR, MOST_KEPT, QUIET_FOR, Chooser, NumberedUnit, Order, chooser
from streamward.vision.lane import ArrivedUnit
from streamward.vision.sampling import Sampler

FPS = 32
GROUP = 32  # frames from one keyframe to the next
STILL, CLOCK, MOVING = 300, 550, 2000  # bytes of a frame between keyframes


@dataclass
class Story:
    """A camera at 32 frames a second, and what becomes of its frames."""

    choice: Chooser
    moving: set[int] = field(default_factory=set)  # frames whose picture differs from the one before
    decoded: list[int] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    overdue: list[int] = field(default_factory=list)
    count: int = 0

    def send(self, frames: int, *, size: int = STILL, group: int = GROUP, is_disposable: bool = False) -> None:
        for _ in range(frames):
            is_keyframe = self.count % group == 0
            content = bytes(20_000 if is_keyframe else size)
            unit = ArrivedUnit(
                content=content, is_keyframe=is_keyframe, arrived_at=self.count / FPS, is_disposable=is_disposable
            )
            self._follow(self.choice.next(NumberedUnit(self.count, unit)))
            self.count += 1

    def _follow(self, orders: Sequence[Order]) -> None:
        for order in orders:
            number = order.unit.number
            self.decoded.append(number)
            if order.is_judged:
                self._follow(self.choice.judged(is_moving=number in self.moving))
            if order.is_shown:
                self.shown.append(number)
                self.choice.looked(order.unit.unit.arrived_at, is_moving=number in self.moving)
                self.overdue += [number] if order.is_overdue else []


def story(mode: DecodeMode, *, max_fps: float | None = 8, moving: set[int] | None = None) -> Story:
    return Story(chooser(mode, Sampler(max_fps=max_fps)), moving=moving or set())


def still(*, max_fps: float | None = 8, moving: set[int] | None = None) -> Story:
    """An adaptive camera that has come to rest: its frame 192 is the first keyframe that was judged."""
    told = story(DecodeMode.ADAPTIVE, max_fps=max_fps, moving=moving)
    told.send(193)
    told.decoded.clear()
    told.shown.clear()
    return told


def test_all_decodes_everything_and_shows_what_is_sampled():
    told = story(DecodeMode.ALL)
    told.send(64)
    assert told.decoded == list(range(64))
    assert told.shown == list(range(0, 64, 4))


def test_sampled_shows_the_same_and_decodes_no_more_than_these_need():
    told = story(DecodeMode.SAMPLED)
    told.send(64)
    assert told.shown == list(range(0, 64, 4))
    assert told.decoded == [*range(29), *range(32, 61)]


def test_sampled_leaves_out_what_nobody_refers_to():
    told = story(DecodeMode.SAMPLED)
    told.send(64, is_disposable=True)
    assert told.decoded == told.shown == list(range(0, 64, 4))


def test_sampled_keeps_a_keyframe_that_is_not_looked_at_for_those_that_need_it():
    told = story(DecodeMode.SAMPLED, max_fps=4)
    told.send(30, group=10)
    assert told.shown == [0, 8, 16, 24]
    assert told.decoded == [*range(9), *range(10, 17), *range(20, 25)]


def test_sampled_holds_no_more_than_it_may():
    told = story(DecodeMode.SAMPLED, max_fps=0.01)
    told.send(1)
    told.send(9, size=MOST_KEPT // 4)
    assert told.decoded == [0, *range(1, 6)]
    assert told.shown == [0]


def test_keyframes_decodes_nothing_else():
    told = story(DecodeMode.KEYFRAMES, max_fps=0.5)
    told.send(4 * GROUP)
    assert told.decoded == told.shown == [0, 64]


def test_adaptive_begins_with_everything_until_it_was_quiet_for_long():
    told = story(DecodeMode.ADAPTIVE)
    told.send(round(QUIET_FOR * FPS))
    assert told.decoded == list(range(round(QUIET_FOR * FPS)))


def test_adaptive_decodes_keyframes_only_while_nothing_moves():
    told = still()
    told.send(3 * GROUP)
    assert sorted(set(told.decoded)) == told.shown == [224, 256, 288]


def test_a_frame_that_stands_out_wakes_it_from_the_group_s_first_frame_on():
    told = still(moving=set(range(202, 220)))
    told.send(9)
    assert told.decoded == []
    told.send(1, size=MOVING)
    assert told.decoded == list(range(193, 203))
    assert told.shown == told.overdue == [196, 200]
    told.send(3 * GROUP)  # something moves: it stays awake
    assert told.decoded == list(range(193, 203 + 3 * GROUP))


def test_what_stood_out_for_nothing_is_forgotten_at_the_next_keyframe():
    told = still()
    told.send(9)
    told.send(1, size=MOVING)
    told.send(2 * GROUP)
    assert max(number for number in told.decoded if number % GROUP) < 7 * GROUP


def test_a_doubt_that_no_picture_settles_ends_after_a_second():
    told = still(max_fps=0.01)
    told.send(9)
    told.send(1, size=MOVING)
    told.send(3 * GROUP)
    last = max(number for number in told.decoded if number % GROUP)
    assert 202 + DOUBT_FOR * FPS <= last + 1 < 202 + DOUBT_FOR * FPS + GROUP


def test_a_clock_is_looked_into_until_it_is_known_and_what_comes_beside_it_always():
    told = still()
    for _ in range(6):
        told.send(9)
        told.send(1, size=CLOCK)
        told.send(GROUP - 10)
    assert {number // GROUP for number in told.decoded if number % GROUP} == {6, 7, 8}
    told.send(9)
    told.send(1, size=MOVING)  # more than a clock takes
    told.send(GROUP)
    assert max(told.decoded) > 394
    told.send(5, size=CLOCK)
    assert max(told.decoded) == told.count - 1


def test_a_keyframe_that_differs_brings_back_the_group_before_it():
    told = still(max_fps=None, moving={224, *range(211, 224)})
    told.send(GROUP)
    assert told.decoded == [224, 192, *range(193, 224), 224]
    assert told.shown == told.overdue == [*range(193, 224), 224]


def test_a_keyframe_that_differs_at_once_has_nothing_to_bring_back():
    told = story(DecodeMode.ADAPTIVE, moving={160})
    told.send(160 + GROUP)
    assert told.decoded == [*range(160), 160, 160, *range(161, 160 + GROUP)]
    assert 160 in told.shown


def test_it_stays_awake_as_long_as_something_moves():
    told = story(DecodeMode.ADAPTIVE, max_fps=None, moving=set(range(1000)))
    told.send(1000)
    assert told.decoded == list(range(1000))


def test_a_loud_camera_is_decoded_whole():
    told = story(DecodeMode.ADAPTIVE)
    for _ in range(500):
        told.send(1, size=2000)
        told.send(1, size=6000)
    assert told.decoded == list(range(1000))


def test_a_group_that_is_too_long_to_be_kept_is_decoded():
    told = still()
    huge = MOST_KEPT // 20
    told.choice._sizes._rise = 2 * huge  # type: ignore[attr-defined]  # it is usual here
    told.send(24, size=huge)
    assert len(told.decoded) > 15


@pytest.mark.parametrize("mode", DecodeMode)
def test_a_camera_that_sends_recovery_points_and_no_keyframes_is_decoded_whole(mode: DecodeMode):
    choice = chooser(mode, Sampler())
    units = [
        ArrivedUnit(content=b"", is_keyframe=False, is_recovery_point=number % 4 == 0, arrived_at=number / FPS)
        for number in range(12)
    ]
    orders = [order for number, unit in enumerate(units) for order in choice.next(NumberedUnit(number, unit))]
    assert [(order.unit.number, order.is_shown) for order in orders] == [(number, True) for number in range(12)]


@pytest.mark.parametrize("mode", [DecodeMode.ALL, DecodeMode.SAMPLED, DecodeMode.KEYFRAMES])
def test_who_compares_nothing_does_nothing_about_movement(mode):
    choice = chooser(mode, Sampler())
    choice.looked(0.0, is_moving=True)
    assert not choice.judged(is_moving=True)


def test_a_keyframe_whose_followers_may_not_be_decoded_is_alone():
    def alone(choice: Chooser, count: int) -> list[int]:
        units = [ArrivedUnit(content=b"", is_keyframe=at % 4 == 0, arrived_at=float(at)) for at in range(count)]
        orders = [order for at, unit in enumerate(units) for order in choice.next(NumberedUnit(at, unit))]
        return [order.unit.number for order in orders if order.is_alone]

    assert alone(chooser(DecodeMode.KEYFRAMES, Sampler()), 9) == [0, 4, 8]
    assert alone(chooser(DecodeMode.ALL, Sampler()), 9) == []
    assert alone(chooser(DecodeMode.SAMPLED, Sampler()), 9) == []
    told = still()
    [order] = told.choice.next(NumberedUnit(224, ArrivedUnit(content=b"", is_keyframe=True, arrived_at=7.0)))
    assert order.is_alone
    assert order.is_judged


def test_sampled_decodes_everything_of_a_camera_whose_pictures_are_shown_in_another_order():
    told = story(DecodeMode.SAMPLED)
    told.send(10, is_disposable=True)
    told.choice.reordered()
    told.send(54, is_disposable=True)
    assert told.decoded == [0, 4, 8, *range(10, 64)]
    assert told.shown == list(range(0, 64, 4))


@pytest.mark.parametrize("mode", [DecodeMode.ALL, DecodeMode.KEYFRAMES, DecodeMode.ADAPTIVE])
def test_the_other_modes_do_not_mind_in_which_order_pictures_are_shown(mode):
    told, minded = story(mode), story(mode)
    minded.choice.reordered()
    for each in (told, minded):
        each.send(64)
    assert told == minded
