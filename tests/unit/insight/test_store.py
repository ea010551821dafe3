"""The values that cross the ports of batching."""

import pytest

from streamward.insight.batch import Lane, Sighting
from streamward.insight.store import IndexAway, Stored, in_turn
from tests.support.builders import at
from tests.support.sightings import FOLLOWED, PERSON, a_seen


def stored(*, is_late: bool) -> Stored:
    return Stored(detection_id=7, made_at=at(3), is_late=is_late, is_new=True, batch_id=None)


def test_what_is_late_goes_aside():
    assert stored(is_late=True).lane is Lane.ASIDE
    assert stored(is_late=False).lane is Lane.PRESENT


def test_a_batch_sees_an_id_and_a_moment():
    assert stored(is_late=False).sighting == Sighting(7, at(3))


def test_an_index_that_is_away_says_where_and_why():
    assert str(IndexAway("cache:6379", "refused")) == "the index of open batches cache:6379 does not answer: refused"


def test_the_oldest_is_stored_first_whoever_offers_it():
    seen = [a_seen("b", 1, made_at=at(2)), a_seen("b", 0, made_at=at(2)), a_seen("a", made_at=at(2)), a_seen("c")]
    assert in_turn(seen) == [3, 2, 1, 0]
    assert in_turn(seen[::-1]) == [0, 1, 2, 3]


@pytest.mark.parametrize(("detection", "track"), [(FOLLOWED, "cam-1.3.2.7"), (PERSON, None)])
def test_a_track_is_one_of_its_camera_and_generation_and_epoch(detection, track):
    assert a_seen("cam-1.3.2.471234", detection=detection).track == track
