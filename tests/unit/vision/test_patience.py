"""Which looks are given up, and when a process is."""

import pytest

from streamward.model.ids import CameraId
from streamward.vision.patience import FIRST, LONGEST, SHORTEST, Eye, Hopeless, Look, allowed, judge

ONE, TWO, THREE = map(CameraId, ("cam-1", "cam-2", "cam-3"))


def look(lasts: float, camera_id: CameraId = ONE) -> Look:
    return Look(camera_id=camera_id, lasts=lasts, allowed=SHORTEST)


def an_eye(*cameras: CameraId, answered: tuple[CameraId, ...] = (), lasts: float | None = None) -> Eye:
    at = None if lasts is None else look(lasts)
    return Eye(cameras=frozenset(cameras), answered=frozenset(answered), look=at)


@pytest.mark.parametrize(
    ("slowest", "seconds"), [(None, FIRST), (0.03, SHORTEST), (2.0, SHORTEST), (4.0, 20.0), (90.0, LONGEST)]
)
def test_a_detector_that_is_always_slow_is_waited_for(slowest, seconds):
    assert allowed(slowest) == seconds


def test_a_look_is_given_up_when_its_time_is_over():
    assert not look(SHORTEST - 0.1).is_given_up
    assert look(SHORTEST).is_given_up
    assert not an_eye(ONE).is_stuck


@pytest.mark.parametrize(
    "eyes",
    [
        [],
        [an_eye(ONE, TWO, answered=(TWO,), lasts=9.0)],  # not yet
        [an_eye(ONE, answered=(ONE, TWO), lasts=LONGEST), an_eye(THREE)],  # nobody waits, and another is seen
        [an_eye(ONE, TWO, answered=(ONE,), lasts=LONGEST), an_eye(THREE)],  # it may fail with the other as well
        [an_eye(ONE, TWO, lasts=FIRST)],  # nobody is seen, but it may come back
        [an_eye(lasts=LONGEST), an_eye(TWO)],  # whose camera has left
        [an_eye(answered=(TWO,), lasts=LONGEST)],  # with all others
    ],
)
def test_a_process_that_is_of_use_goes_on(eyes):
    assert judge(eyes) is None


def test_a_camera_that_keeps_others_from_a_detector_that_works_for_them_is_to_blame():
    blamed = Hopeless(look=look(SHORTEST), is_to_blame=True)
    assert judge([an_eye(THREE), an_eye(ONE, TWO, answered=(ONE, TWO), lasts=SHORTEST)]) == blamed
    assert judge([an_eye(TWO, answered=(TWO,), lasts=SHORTEST)]) == blamed  # it has left, and its look has not


@pytest.mark.parametrize("other", [an_eye(), an_eye(THREE, lasts=SHORTEST)])
def test_a_process_in_which_nobody_was_seen_for_a_minute_ends_and_nobody_is_to_blame(other):
    assert judge([other, an_eye(ONE, TWO, lasts=LONGEST)]) == Hopeless(look=look(LONGEST), is_to_blame=False)
    assert judge([an_eye(ONE, answered=(TWO,), lasts=LONGEST), other]) is not None
