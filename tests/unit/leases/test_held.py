"""A lease as its owner knows it."""

from streamward.leases.held import Held, heard
from streamward.leases.policy import trusted_for
from streamward.leases.store import Kept
from streamward.model.ids import Generation
from tests.support.builders import CAMERA, an_owner, at

OWNER = an_owner()
KEPT = Kept(CAMERA, Generation(1), 8.0)


def a_lease(*, asked: float = 10.0, now: float = 10.2, known: Held | None = None) -> Held:
    return heard(KEPT, at=at(100), asked=asked, now=now, known=known)


def test_trust_is_counted_from_before_the_ask():
    held = a_lease()
    assert held.deadline == 10.0 + trusted_for(8.0)
    assert held.is_trusted(held.deadline - 0.001)
    assert not held.is_trusted(held.deadline)


def test_a_frame_is_dated_on_the_late_side():
    stamp = a_lease().stamp(CAMERA, OWNER, arrived=11.0, now=11.5)
    assert stamp is not None
    assert (stamp.made_at, stamp.generation, stamp.owner) == (at(101), 1, OWNER)


def test_nothing_is_stamped_past_the_deadline_or_from_before_the_grant():
    held = a_lease()
    assert held.stamp(CAMERA, OWNER, arrived=11.0, now=held.deadline) is None
    assert held.stamp(CAMERA, OWNER, arrived=10.1, now=11.0) is None


def test_a_renewal_keeps_since_when_it_is_known_and_another_generation_does_not():
    first = a_lease()
    assert a_lease(asked=12.0, now=12.1, known=first).since == first.since
    again = heard(Kept(CAMERA, Generation(2), 8.0), at=at(102), asked=12.0, now=12.1, known=first)
    assert again.since == 12.1
