"""A runner's side of its leases: deadlines, renewals, and answers that are late, lost or told twice."""

from dataclasses import replace

import pytest

from streamward.leases.holder import (
    FIRST_FEW,
    LEFT_FOR,
    LOOK_AGAIN,
    MOST_ASKED,
    RETRY_AFTER,
    SETTLED_AFTER,
    Acquired,
    AskKind,
    Beat,
    Flags,
    Holder,
    HolderState,
)
from streamward.leases.store import Kept, Named, OpenClaim, Renewal
from tests.support.builders import CAMERA, at
from tests.support.holder_talk import ONE, OTHER, OWNER, SPEC, TRUST, TTL, TWO, Talk, holding, made_at, renewed


def test_it_registers_before_it_asks_for_anything():
    holder = Holder(SPEC)
    (ask,) = holder.due(0.0)
    assert (ask.kind, ask.body, holder.state) == (AskKind.REGISTER, SPEC.runner, HolderState.STARTING)
    holder.receive(ask, Flags(capacity=7), 0.1)
    assert holder.state is HolderState.SERVING
    nothing = Renewal(owner=OWNER, leases=())  # the answer tells of grants that were never heard of
    assert [each.body for each in holder.due(0.1)] == [nothing, OpenClaim(owner=OWNER, limit=FIRST_FEW), Beat(OWNER, 0)]


def test_a_lease_is_trusted_from_before_the_ask_not_from_the_answer():
    talk = Talk()
    talk.holder.wake(10.0)
    talk.poll(10.0)
    answer = Acquired(at=at(10.5), leases=(Kept(CAMERA, ONE, TTL),), more=False)
    talk.answer(AskKind.ACQUIRE, answer, now=10.9)
    assert talk.generation(10.0 + TRUST - 0.001) == ONE
    assert list(talk.holder.held(10.0 + TRUST - 0.001)) == [CAMERA]
    assert talk.generation(10.0 + TRUST) is None
    assert list(talk.holder.held(10.0 + TRUST)) == []


def test_nothing_is_stamped_past_the_deadline_however_early_it_arrived():
    talk = holding(now=10.0)
    assert made_at(talk, arrived=11.0, now=10.0 + TRUST - 0.001) == at(11.0)
    assert made_at(talk, arrived=11.0, now=10.0 + TRUST) is None


def test_a_frame_from_before_the_grant_is_not_stamped():
    talk = holding(now=10.0)
    assert made_at(talk, arrived=9.999, now=11.0) is None
    assert made_at(talk, arrived=10.0, now=11.0) == at(10.0)


def test_a_camera_that_was_lost_and_regained_stamps_nothing_from_between():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(now=12.0, lost=(CAMERA,)), now=12.0)
    talk.acquired(CAMERA, now=20.0, generation=TWO)
    assert made_at(talk, arrived=15.0, now=21.0) is None
    assert made_at(talk, arrived=20.5, now=21.0) == at(20.5)


def test_a_stamp_is_database_time_on_the_late_side():
    talk = Talk()
    talk.holder.wake(10.0)
    talk.poll(10.0)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(110.4), leases=(Kept(CAMERA, ONE, TTL),), more=False), now=10.8)
    stamp = talk.holder.stamp(CAMERA, arrived=12.0, now=12.1)
    assert stamp is not None
    assert (stamp.made_at, stamp.generation, stamp.owner) == (at(112.4), ONE, OWNER)


def test_what_is_not_held_is_not_stamped():
    assert made_at(Talk(), arrived=1.0) is None


@pytest.mark.parametrize(("answered", "holds"), [(10.999, True), (11.0, False)])
def test_an_answer_after_a_second_is_not_believed(answered, holds):
    talk = Talk()
    talk.holder.wake(10.0)
    talk.poll(10.0)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(10), leases=(Kept(CAMERA, ONE, TTL),), more=False), now=answered)
    assert bool(talk.holder.held(answered)) is holds


def test_a_repeated_answer_changes_nothing():
    talk = holding(now=10.0)
    old = talk.last(AskKind.ACQUIRE)
    talk.holder.drop(CAMERA, 10.1)
    talk.holder.receive(old, Acquired(at=at(10), leases=(Kept(OTHER, ONE, TTL),), more=False), 10.2)
    assert list(talk.holder.held(10.2)) == []


def test_a_renewal_names_the_exact_grants_and_extends_from_when_it_was_sent():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.poll(12.0)
    body = talk.last(AskKind.RENEW).body
    assert body == Renewal(owner=OWNER, leases=(Named(CAMERA, ONE), Named(OTHER, ONE)))
    talk.answer(AskKind.RENEW, renewed(CAMERA, OTHER, now=12.3), now=12.5)
    assert list(talk.holder.held(12.0 + TRUST - 0.001)) == [CAMERA, OTHER]
    assert list(talk.holder.held(12.0 + TRUST)) == []


def test_an_expired_lease_is_still_renewed_and_comes_back_if_nobody_took_it():
    talk = holding(now=10.0)
    assert list(talk.holder.held(30.0)) == []
    talk.poll(30.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=30.0), now=30.1)
    assert list(talk.holder.held(30.1)) == [CAMERA]


def test_what_was_lost_stops_at_once_and_is_not_given_back():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(OTHER, now=12.0, lost=(CAMERA,)), now=12.1)
    assert list(talk.holder.held(12.1)) == [OTHER]
    assert AskKind.RELEASE not in talk.poll(13.0)


def test_a_loss_of_an_older_generation_does_not_end_a_newer_one():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.holder.drop(CAMERA, 12.1)
    talk.acquired(CAMERA, now=12.2, generation=TWO)
    talk.answer(AskKind.RENEW, renewed(now=12.0, lost=(CAMERA,)), now=12.3)
    assert talk.generation(12.3) == TWO


def test_an_older_answer_takes_nothing_from_a_newer_one():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.ACQUIRE, None, now=12.0)
    talk.acquired(CAMERA, now=12.5)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=12.0), now=12.9)
    assert list(talk.holder.held(12.5 + TRUST - 0.001)) == [CAMERA]


def test_a_renewal_of_an_older_generation_does_not_replace_a_newer_one():
    talk = holding(now=10.0)
    talk.acquired(CAMERA, now=11.0, generation=TWO)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=12.0), now=12.1)
    assert talk.generation(12.1) == TWO


def test_what_was_busy_is_asked_again_at_once():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(now=12.0, busy=(CAMERA,)), now=12.1)
    assert talk.holder.next_due() == pytest.approx(12.1)
    assert AskKind.RENEW in talk.poll(12.1)
    assert list(talk.holder.held(12.1)) == [CAMERA]


def test_it_asks_for_no_more_than_it_has_room_for():
    talk = Talk(capacity=3).acquired(CAMERA, OTHER, now=10.0)
    talk.holder.drop(OTHER, 10.1)
    talk.poll(12.0)
    assert talk.last(AskKind.ACQUIRE).body == OpenClaim(owner=OWNER, limit=1)


def test_a_full_holder_asks_for_nothing():
    talk = Talk(capacity=1).acquired(CAMERA, now=10.0)
    assert AskKind.ACQUIRE not in talk.poll(20.0)


def test_it_takes_a_few_first_and_the_rest_when_those_who_started_with_it_are_known():
    talk = Talk(capacity=5).acquired(CAMERA, OTHER, now=0.2, more=True)
    assert AskKind.ACQUIRE not in talk.poll(0.2), "its first few"
    assert talk.holder.next_due() <= SETTLED_AFTER
    talk.poll(SETTLED_AFTER)
    assert talk.last(AskKind.ACQUIRE).body == OpenClaim(owner=OWNER, limit=3)


def test_it_asks_beyond_its_share_for_what_others_leave_free_for_long():
    talk, claim = holding(now=10.0), OpenClaim(owner=OWNER, limit=9)
    talk.acquired(now=11.0, more=True)
    assert AskKind.ACQUIRE not in talk.poll(11.0)
    assert AskKind.ACQUIRE in talk.poll(11.0 + LOOK_AGAIN)
    assert talk.last(AskKind.ACQUIRE).body == claim
    talk.acquired(now=11.5, more=True).acquired(now=11.0 + LEFT_FOR)
    assert talk.last(AskKind.ACQUIRE).body == replace(claim, beyond_share=True)
    talk.acquired(now=14.0)
    assert talk.last(AskKind.ACQUIRE).body == claim, "nothing was left, so the others have their time again"


def test_it_asks_for_no_more_than_a_message_may():
    talk = Talk(capacity=10_000)
    talk.poll(SETTLED_AFTER)
    assert talk.last(AskKind.ACQUIRE).body == OpenClaim(owner=OWNER, limit=MOST_ASKED)


def test_when_more_is_free_it_asks_again_at_once():
    talk = Talk().acquired(CAMERA, now=10.0, more=True)
    assert AskKind.ACQUIRE in talk.poll(10.0)


def test_a_wake_up_brings_the_next_ask_forward_and_never_puts_it_off():
    talk = Talk().acquired(CAMERA, now=10.0)
    assert AskKind.ACQUIRE not in talk.poll(10.5)
    talk.holder.wake(10.5)
    talk.holder.wake(99.0)
    assert AskKind.ACQUIRE in talk.poll(10.5)


def test_an_ask_that_failed_goes_again_soon():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, None, now=12.2)
    assert AskKind.RENEW not in talk.poll(12.2 + RETRY_AFTER - 0.01)
    assert AskKind.RENEW in talk.poll(12.2 + RETRY_AFTER)


def test_an_ask_without_an_answer_is_given_up_after_a_second_and_goes_again():
    talk = holding(now=10.0)
    first = (talk.poll(12.0), talk.last(AskKind.RENEW))[1]
    assert AskKind.RENEW not in talk.poll(12.99)
    assert AskKind.RENEW in talk.poll(13.0)
    talk.holder.receive(first, renewed(CAMERA, now=12.0), 12.5)
    assert list(talk.holder.held(10.0 + TRUST)) == []


def test_it_says_when_it_has_something_to_do_next():
    holder = Holder(SPEC)
    assert holder.next_due() == 0.0
    (ask,) = holder.due(0.0)
    assert holder.next_due() == pytest.approx(1.0)
    holder.receive(ask, Flags(capacity=0), 0.1)
    holder.due(0.1)
    assert holder.next_due() == pytest.approx(1.1)
