"""Who takes leases, and who is heard."""

from dataclasses import replace

import pytest

from streamward.model.runner import ENDED_ON_TRIAL, SILENT_AFTER, DrainMode, Making
from tests.support.builders import a_runner, at


@pytest.mark.parametrize(
    ("cordoned", "drain", "takes"),
    [
        (False, DrainMode.NONE, True),
        (True, DrainMode.NONE, False),
        (False, DrainMode.SOFT, False),
        (False, DrainMode.HARD, False),
        (True, DrainMode.SOFT, False),
    ],
)
def test_a_cordoned_or_draining_runner_takes_no_new_leases(cordoned, drain, takes):
    assert a_runner(cordoned=cordoned, drain=drain).takes_leases is takes


@pytest.mark.parametrize(("later", "healthy"), [(0, True), (SILENT_AFTER, True), (SILENT_AFTER + 0.1, False)])
def test_a_runner_is_healthy_while_its_heartbeats_come(later, healthy):
    assert a_runner().is_healthy(at(later)) is healthy


def test_a_rollout_is_another_make_and_remembers_what_last_worked():
    settled = replace(a_runner(), make=1, detector="colour", making=Making(proven=1, tried=1))
    rolled = settled.rolled_out("people")
    assert (rolled.make, rolled.detector, rolled.earlier_detector) == (2, "people", "colour")
    assert rolled.rolled_out("cars").earlier_detector == "colour"


@pytest.mark.parametrize(
    ("before", "refusal"),
    [
        (Making(proven=1, tried=2, problem="it is broken"), "it is broken"),
        (Making(proven=1, tried=2), ENDED_ON_TRIAL),
        (Making(proven=2, tried=2), None),
        (Making(proven=1, tried=1, problem="it was broken"), None),
    ],
)
def test_what_a_runner_refused_or_did_not_survive_is_not_tried_by_its_next_start(before, refusal):
    assert before.refusal(2) == refusal
