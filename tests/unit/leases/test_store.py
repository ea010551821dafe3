"""The values that cross the store's ports."""

from streamward.leases.store import Kept, StoreUnavailable
from streamward.model.ids import Generation
from tests.support.builders import CAMERA, at


def test_a_renewed_lease_expires_its_ttl_after_it_was_renewed():
    assert Kept(CAMERA, Generation(1), 8.0).expires_at(at(3)) == at(11)


def test_a_store_that_does_not_answer_says_no_more_than_that():
    assert str(StoreUnavailable()) == "the database does not answer"
