"""The built-in analyst's rules, each at its edge."""

import pytest

from streamward.insight.analysis import Recorded, presences
from streamward.insight.batch import CloseReason
from streamward.insight.summary import NAME, judge, summarise
from tests.support.builders import at
from tests.support.cases import a_case, seen


def score(*things: Recorded, reason: CloseReason = CloseReason.IDLE) -> int:
    return judge(presences(things), reason=reason).score


@pytest.mark.parametrize(
    ("label", "risk"), [("knife", 80), ("person", 40), ("Person", 40), ("car", 20), ("dog", 10), ("teapot", 5)]
)
def test_each_kind_has_its_weight(label, risk):
    assert score(seen(label, 1.0)) == risk


@pytest.mark.parametrize(("confidence", "risk"), [(-0.5, 0), (0.0, 0), (0.5, 20), (1.0, 40), (7.0, 40)])
def test_what_nobody_is_sure_of_weighs_less(confidence, risk):
    assert score(seen("person", confidence)) == risk


def test_the_worst_kind_counts():
    judged = judge(presences([seen("car", 1.0), seen("car", 1.0, at=1), seen("person", 0.9)]), reason=CloseReason.IDLE)
    assert judged.score == 36
    assert judged.reasons == ("person seen with a confidence of 0.90",)


@pytest.mark.parametrize(("last", "risk"), [(59.9, 40), (60.0, 55)])
def test_a_long_stay_adds_to_the_risk(last, risk):
    assert score(*(seen("person", 1.0, at=each) for each in (*range(0, 60, 5), last))) == risk


def test_several_at_once_add_to_the_risk():
    judged = judge(presences([seen("person", 1.0), seen("person", 0.3)]), reason=CloseReason.IDLE)
    assert judged.score == 50
    assert "2 × person at once" in judged.reasons


def test_what_the_tenant_calls_urgent_adds_to_the_risk():
    assert score(seen("person", 1.0), reason=CloseReason.FAST_PATH) == 60


def test_no_risk_is_above_all():
    stayed = [seen("gun", 1.0, at=each) for each in range(61) for _ in range(2)]
    assert score(*stayed, reason=CloseReason.FAST_PATH) == 100


def test_a_batch_is_told_in_one_sentence():
    said = summarise(a_case(seen("person", at=0, zones=("door",)), seen("person", at=9), seen("car", at=5)))
    assert said.summary == "2 × person, 1 × car on cam-1 in door within 9 s"
    assert (said.analyst, said.first_seen, said.last_seen) == (NAME, at(0), at(9))


def test_things_that_were_followed_are_told_by_their_number_and_not_by_how_often_they_were_seen():
    persons = [seen("person", at=second, track=track) for second in range(10) for track in (1, 2, 3)]
    assert summarise(a_case(*persons, seen("car"))).summary == (
        "3 × person (30 detections), 1 × car on cam-1 within 9 s"
    )


def test_zones_that_nobody_knows_are_not_told():
    assert summarise(a_case(seen("person"))).summary == "1 × person on cam-1 within 0 s"
