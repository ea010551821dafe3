"""The values that cross the ports of batching."""

from streamward.insight.batch import Lane, Sighting
from streamward.insight.store import IndexAway, Stored
from tests.support.builders import at


def stored(*, is_late: bool) -> Stored:
    return Stored(detection_id=7, made_at=at(3), is_late=is_late, is_new=True, batch_id=None)


def test_what_is_late_goes_aside():
    assert stored(is_late=True).lane is Lane.ASIDE
    assert stored(is_late=False).lane is Lane.PRESENT


def test_a_batch_sees_an_id_and_a_moment():
    assert stored(is_late=False).sighting == Sighting(7, at(3))


def test_an_index_that_is_away_says_where_and_why():
    assert str(IndexAway("cache:6379", "refused")) == "the index of open batches cache:6379 does not answer: refused"
