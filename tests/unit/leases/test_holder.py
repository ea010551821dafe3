"""A runner's side of its leases: deadlines, renewals, and answers that are late, lost or told twice."""

from dataclasses import replace
from datetime import datetime

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
from streamward.leases.policy import FAST, FASTER
from streamward.leases.store import Kept, Named, OpenClaim, Renewal, Renewed
from streamward.model.ids import CameraId
from streamward.model.runner import RunnerLoad
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


def test_a_heartbeat_counts_the_leases_that_are_trusted_and_carries_the_load():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.holder.load = RunnerLoad(shards=1, cpu_pct=12.5, mem_mb=300.0)
    talk.poll(11.0)
    assert talk.last(AskKind.BEAT).body == Beat(OWNER, 2, load=talk.holder.load)
    talk.answer(AskKind.BEAT, Flags(capacity=7), now=11.0)
    talk.holder.drop(OTHER, 11.5)
    talk.poll(12.0)
    assert talk.last(AskKind.BEAT).body == Beat(OWNER, 1, load=talk.holder.load), "what is given back is not its own"
    talk.answer(AskKind.BEAT, Flags(capacity=7), now=12.0)
    talk.poll(14.0)
    talk.answer(AskKind.BEAT, Flags(capacity=7), now=14.0)
    talk.poll(10.0 + TRUST)
    assert talk.last(AskKind.BEAT).body == Beat(OWNER, 0, load=talk.holder.load), "another may hold it by now"


def test_a_lease_is_trusted_from_before_the_ask_not_from_the_answer():
    talk = Talk()
    talk.hears(10.0)
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
    talk.hears(10.0)
    talk.holder.wake(10.0)
    talk.poll(10.0)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(110.4), leases=(Kept(CAMERA, ONE, TTL),), more=False), now=10.8)
    stamp = talk.holder.stamp(CAMERA, arrived=12.0, now=12.1)
    assert stamp is not None
    assert (stamp.made_at, stamp.generation, stamp.owner) == (at(112.4), ONE, OWNER)


def test_what_is_not_held_is_not_stamped():
    assert made_at(Talk(), arrived=1.0) is None


def test_a_grant_that_is_answered_when_its_trust_is_over_is_given_back_for_others_to_begin_with():
    talk = Talk()
    talk.hears(10.0)
    talk.holder.wake(10.0)
    talk.poll(10.0)
    answer = Acquired(at=at(10.1), leases=(Kept(CAMERA, ONE, TTL),), more=False)
    talk.holder.receive(talk.last(AskKind.ACQUIRE), answer, 10.0 + TRUST)
    assert list(talk.holder.giving_back) == [CAMERA]


@pytest.mark.parametrize("answered", [10.5, 14.0, 16.0])
def test_a_late_answer_still_counts_from_its_own_sending(answered):
    talk = Talk()
    talk.hears(10.0)
    talk.holder.wake(10.0)
    talk.poll(10.0)
    first = talk.last(AskKind.ACQUIRE)
    assert AskKind.ACQUIRE in talk.poll(11.0), "another goes while the first is not answered"
    talk.holder.receive(first, Acquired(at=at(10), leases=(Kept(CAMERA, ONE, TTL),), more=False), answered)
    assert talk.generation(answered) == ONE
    assert talk.generation(10.0 + TRUST) is None


def test_a_fifth_ask_closes_the_oldest_and_none_is_awaited_for_ever():
    talk = holding(now=10.0)
    first = talk.last(AskKind.RENEW)
    sent = []
    for now in (12.0, 14.0, 16.0, 18.0):
        talk.poll(now)
        sent.append(talk.last(AskKind.RENEW))
    assert talk.holder.outstanding.issuperset(each.number for each in sent)
    assert first.number not in talk.holder.outstanding
    talk.holder.receive(first, renewed(CAMERA, now=10.0), 18.1)
    assert talk.generation(18.1) is None, "its answer is not known any more"
    talk.poll(40.0)
    assert not talk.holder.outstanding & {each.number for each in sent}


def test_a_fifth_claim_closes_the_oldest_before_its_time():
    talk = holding(now=10.0)
    talk.holder.wake(12.0)
    sent = []
    for now in (12.0, 13.0, 15.0, 17.0, 19.0):
        talk.hears(now)
        assert AskKind.ACQUIRE in talk.poll(now)
        sent.append(talk.last(AskKind.ACQUIRE).number)
    assert talk.holder.outstanding & set(sent) == set(sent[1:])


def test_late_answers_cost_only_the_leases_that_they_are_too_late_for():
    talk = holding(now=10.0)
    talk.holder.wake(10.1)
    talk.poll(10.1)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(10.1), leases=(Kept(OTHER, ONE, 90.0),), more=False), now=10.1)
    for sent in (12.0, 18.0):
        talk.poll(sent)
        both = replace(renewed(CAMERA, now=sent), kept=(Kept(CAMERA, ONE, TTL), Kept(OTHER, ONE, 90.0)))
        talk.answer(AskKind.RENEW, both, now=sent + 5.0)
    assert list(talk.holder.giving_back) == [CAMERA]
    assert list(talk.holder.held(23.0)) == [OTHER]


def test_of_an_answer_that_is_older_than_another_only_what_was_kept_counts():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.poll(12.0)
    older = talk.last(AskKind.RENEW)
    talk.poll(14.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, OTHER, now=14.1), now=14.2)
    lost = renewed(CAMERA, now=12.1, lost=(OTHER,), unlisted=(Named(CameraId("cam-9"), ONE),))
    talk.holder.receive(older, lost, 14.3)
    assert list(talk.holder.held(14.3)) == [CAMERA, OTHER]
    assert talk.holder.giving_back == {}


def test_each_renewal_echoes_the_newest_database_time_that_a_renewal_was_answered_with():
    talk = Talk()
    talk.poll(0.2)
    assert talk.last(AskKind.RENEW).body == Renewal(owner=OWNER, leases=(), echo=None)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(100.0), leases=(Kept(CAMERA, ONE, TTL),), more=False), now=0.3)
    talk.poll(2.2)
    assert _echo(talk) == at(100.0), "a grant's, before the first answer to a renewal"
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=102.0), now=2.3)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(105.0), leases=(), more=False), now=2.4)
    talk.poll(4.2)
    assert _echo(talk) == at(102.0), "another answer does not count"


def _echo(talk: Talk) -> datetime | None:
    body = talk.last(AskKind.RENEW).body
    assert isinstance(body, Renewal)
    return body.echo


def test_what_is_answered_too_late_twice_in_a_row_is_given_back_and_nothing_is_claimed_until_answers_fit():
    talk = holding(now=10.0)
    limit = TRUST - 2.0
    talk.poll(12.0)
    first = talk.last(AskKind.RENEW)
    talk.poll(14.0)
    second = talk.last(AskKind.RENEW)
    talk.holder.receive(first, renewed(CAMERA, now=12.0), 12.0 + limit + 0.1)
    talk.holder.receive(second, renewed(CAMERA, now=14.0), 14.0 + limit + 0.1)
    assert talk.generation(14.0 + limit + 0.1) == ONE, "sent before the first late one arrived"
    talk.poll(19.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=19.0), now=19.0 + limit + 0.1)
    assert list(talk.holder.giving_back) == [CAMERA]
    assert talk.holder.answers.delay == pytest.approx(limit + 0.1)
    talk.holder.wake(24.0)
    assert AskKind.ACQUIRE not in talk.poll(24.0)
    talk.answer(AskKind.RENEW, renewed(now=24.0), now=24.2)
    assert talk.holder.answers.delay is None
    assert AskKind.ACQUIRE in talk.poll(24.2)


def test_who_receives_no_answers_claims_nothing_and_keeps_its_leases():
    talk = holding(now=10.0)
    for now in (12.0, 14.0, 16.0):
        talk.poll(now)
        talk.holder.wake(now)
    assert AskKind.ACQUIRE not in talk.poll(16.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=16.0), now=16.1)
    assert talk.generation(16.1) == ONE
    assert AskKind.ACQUIRE in talk.poll(16.1)


def test_a_repeated_answer_changes_nothing():
    talk = holding(now=10.0)
    old = talk.last(AskKind.ACQUIRE)
    talk.holder.drop(CAMERA, 10.1)
    talk.holder.receive(old, Acquired(at=at(10), leases=(Kept(OTHER, ONE, TTL),), more=False), 10.2)
    assert list(talk.holder.held(10.2)) == []


def test_a_renewal_names_the_exact_grants_and_extends_from_when_it_was_sent():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.poll(12.0)
    assert talk.body(AskKind.RENEW) == Renewal(owner=OWNER, leases=(Named(CAMERA, ONE), Named(OTHER, ONE)))
    talk.answer(AskKind.RENEW, renewed(CAMERA, OTHER, now=12.3), now=12.5)
    assert list(talk.holder.held(12.0 + TRUST - 0.001)) == [CAMERA, OTHER]
    assert list(talk.holder.held(12.0 + TRUST)) == []


def test_an_expired_lease_is_still_renewed_and_comes_back_if_nobody_took_it():
    talk = holding(now=10.0)
    assert list(talk.holder.held(30.0)) == []
    talk.poll(30.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=30.0), now=30.1)
    assert list(talk.holder.held(30.1)) == [CAMERA]


def test_what_was_lost_stops_and_is_given_back_at_once():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(OTHER, now=12.0, lost=(CAMERA,)), now=12.1)
    assert list(talk.holder.held(12.1)) == [OTHER]
    assert [named.camera_id for named in talk.released(12.1)] == [CAMERA]


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
    assert talk.body(AskKind.ACQUIRE) == OpenClaim(owner=OWNER, limit=1)


def test_a_full_holder_asks_for_nothing():
    talk = Talk(capacity=1).acquired(CAMERA, now=10.0)
    talk.hears(20.0)
    assert AskKind.ACQUIRE not in talk.poll(20.0)


def test_it_takes_a_few_first_and_the_rest_when_those_who_started_with_it_are_known():
    talk = Talk(capacity=5).acquired(CAMERA, OTHER, now=0.2, more=True)
    assert AskKind.ACQUIRE not in talk.poll(0.2), "its first few"
    assert talk.holder.next_due() <= SETTLED_AFTER
    talk.poll(SETTLED_AFTER)
    assert talk.body(AskKind.ACQUIRE) == OpenClaim(owner=OWNER, limit=3)


def test_it_asks_beyond_its_share_for_what_others_leave_free_for_long():
    talk, claim = holding(now=10.0), OpenClaim(owner=OWNER, limit=9)
    talk.acquired(now=11.0, more=True)
    assert AskKind.ACQUIRE not in talk.poll(11.0)
    assert AskKind.ACQUIRE in talk.poll(11.0 + LOOK_AGAIN)
    assert talk.body(AskKind.ACQUIRE) == claim
    talk.acquired(now=11.5, more=True).acquired(now=11.0 + LEFT_FOR)
    assert talk.body(AskKind.ACQUIRE) == replace(claim, beyond_share=True)
    talk.acquired(now=14.0)
    assert talk.body(AskKind.ACQUIRE) == claim, "nothing was left, so the others have their time again"


def test_it_asks_for_no_more_than_a_message_may():
    talk = Talk(capacity=10_000)
    talk.hears(SETTLED_AFTER)
    talk.poll(SETTLED_AFTER)
    assert talk.body(AskKind.ACQUIRE) == OpenClaim(owner=OWNER, limit=MOST_ASKED)


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


def test_renewals_go_at_their_pace_and_other_asks_a_second_after_one_that_is_not_answered():
    talk = holding(now=10.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=10.0), now=10.0)
    assert {AskKind.RENEW, AskKind.ACQUIRE} <= set(talk.poll(12.0))
    assert not {AskKind.RENEW, AskKind.ACQUIRE} & set(talk.poll(12.99))
    assert AskKind.ACQUIRE in talk.poll(13.0)
    assert AskKind.ACQUIRE not in talk.poll(14.9)
    assert AskKind.ACQUIRE in talk.poll(15.0)


def test_it_says_when_it_has_something_to_do_next():
    holder = Holder(SPEC)
    assert holder.next_due() == 0.0
    (ask,) = holder.due(0.0)
    assert holder.next_due() == pytest.approx(1.0)
    holder.receive(ask, Flags(capacity=0), 0.1)
    holder.due(0.1)
    assert holder.next_due() == pytest.approx(1.1)


def test_a_claim_without_an_answer_is_not_looked_at_again_and_again_while_nothing_may_be_claimed():
    talk = holding(now=10.0)
    talk.holder.wake(14.0)
    talk.poll(14.0)
    assert talk.last(AskKind.ACQUIRE).sent == 14.0
    for now in (15.0, 16.0, 17.0, 18.0):
        talk.poll(now)
        assert talk.holder.next_due() > now


def test_a_short_lease_is_renewed_as_often_as_it_needs_while_it_is_held():
    talk = holding(now=10.0)
    talk.hears(10.0)
    talk.holder.wake(10.0)
    talk.poll(10.0)
    short = Kept(OTHER, ONE, FASTER.ttl)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(10.0), leases=(short,), more=False), now=10.1)
    assert AskKind.RENEW in talk.poll(10.1 + FASTER.renew_every)
    answer = Renewed(at=at(10.6), kept=(Kept(CAMERA, ONE, TTL), short), lost=(), busy=(), unlisted=())
    talk.answer(AskKind.RENEW, answer, now=10.7)
    assert AskKind.RENEW in talk.poll(10.7 + FASTER.renew_every)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=11.2, lost=(OTHER,)), now=11.2)
    assert talk.holder.answers.renew_every == FAST.renew_every
