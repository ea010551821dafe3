"""What is counted in a batch, and the bounds of what an analyst may say."""

import pytest

from streamward.insight.analysis import (
    LONGEST_REASON,
    LONGEST_SUMMARY,
    MOST_REASONS,
    AnalystFailed,
    AnalystUnusable,
    analysis,
    dwell,
    presences,
)
from tests.support.builders import at
from tests.support.cases import a_case, seen


def test_things_are_counted_by_kind_the_most_frequent_first():
    found = presences([seen("car", at=0), seen("person", at=1), seen("person", at=2), seen("bus", at=3)])
    assert [(each.label, each.count) for each in found] == [("person", 2), ("bus", 1), ("car", 1)]


def test_a_kind_is_told_with_its_first_and_last_moment_and_the_surest_of_it():
    (found,) = presences([seen("person", 0.4, at=7), seen("person", 0.9, at=3), seen("person", 0.5, at=5)])
    assert (found.first_seen, found.last_seen, found.confidence) == (at(3), at(7), 0.9)


def test_those_in_one_frame_were_there_at_once():
    (found,) = presences([seen("person", at=0), seen("person", at=0), seen("person", at=1)])
    assert found.most_at_once == 2


def test_the_zones_of_a_kind_are_told_once_each():
    (found,) = presences([seen("person", at=0, zones=("door", "yard")), seen("person", at=1, zones=("door",))])
    assert found.zones == ("door", "yard")


def test_things_that_were_followed_are_counted_each_once():
    (found,) = presences([seen("person", at=second, track=track) for second in range(20) for track in (1, 7)])
    assert (found.count, found.tracks) == (40, 2)


def test_nobody_guesses_how_many_there_were_if_one_was_not_followed():
    (found,) = presences([seen("person", at=0, track=1), seen("person", at=1)])
    assert found.tracks is None


@pytest.mark.parametrize(
    ("moments", "seconds"),
    [([0], 0.0), ([0, 5], 5.0), ([0, 5.001], 0.0), ([4, 0, 2], 4.0), ([0, 3, 60, 62], 5.0), ([1, 1], 0.0)],
)
def test_a_stay_ends_with_an_absence_that_is_too_long(moments, seconds):
    assert dwell(map(at, moments)) == seconds


def test_an_analysis_names_its_batch_and_when_it_began_and_ended():
    said = analysis(a_case(seen("car", at=4), seen("car", at=1)), analyst="me", summary="cars", risk=3, reasons=["r"])
    assert (said.batch_id, said.tenant_id, said.camera_id) == ("batch-" + "a" * 32, "tenant-1", "cam-1")
    assert (said.first_seen, said.last_seen, said.summary, said.reasons) == (at(1), at(4), "cars", ("r",))


@pytest.mark.parametrize(("risk", "told"), [(-1, 0), (0, 0), (100, 100), (101, 100)])
def test_a_risk_has_bounds(risk, told):
    assert analysis(a_case(seen("car")), analyst="me", summary="", risk=risk, reasons=[]).risk == told


def test_what_an_analyst_says_has_bounds():
    said = analysis(a_case(seen("car")), analyst="me", summary="x" * 9999, risk=0, reasons=["y" * 9999] * 99)
    assert (len(said.summary), len(said.reasons)) == (LONGEST_SUMMARY, MOST_REASONS)
    assert {len(each) for each in said.reasons} == {LONGEST_REASON}


def test_errors_say_what_failed():
    assert str(AnalystUnusable("x", "no such thing")) == "the analyst x cannot be used: no such thing"
    assert str(AnalystFailed("x", "no answer", retry_in=3.0)) == "the analyst x failed: no answer"
