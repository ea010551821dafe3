"""Enough cameras."""

import pytest

from streamward.model.status import StreamState
from streamward.vision.readiness import is_ready
from streamward.vision.stream import Condition


def a_condition(state: StreamState = StreamState.STREAMING, *, age: float | None = 1.0) -> Condition:
    last = None if age is None else 100.0 - age
    return Condition(state=state, substate=None, fps=5.0, last_frame_at=last, error_code=None)


GOOD, BAD = a_condition(), a_condition(StreamState.CONNECTING, age=None)


@pytest.mark.parametrize(
    ("running", "of", "ready"), [(8, 10, True), (7, 10, False), (1, 1, True), (4, 5, True), (0, 0, True)]
)
def test_a_worker_is_ready_when_the_quorum_runs(running, of, ready):
    assert is_ready([GOOD] * running + [BAD] * (of - running), 100.0, quorum_pct=80) is ready


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        (a_condition(age=14), True),
        (a_condition(age=16), False),
        (a_condition(StreamState.DISCONNECTED, age=2), True),  # it shows something still
        (a_condition(StreamState.DISCONNECTED, age=4), False),
        (a_condition(StreamState.STREAMING, age=None), False),
    ],
)
def test_a_camera_runs_when_it_showed_something_lately(condition, runs):
    assert is_ready([condition], 100.0, quorum_pct=80) is runs
