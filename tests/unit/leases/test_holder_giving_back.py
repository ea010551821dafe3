"""How a runner gives leases back: one by one, drained, unknowingly held, or all at once."""

import math

import pytest

from streamward.leases.handover import HANDED_WITHIN, NO_ONE_WITHIN, Handing
from streamward.leases.holder import (
    SOFT_DRAIN_BATCH,
    Acquired,
    Answer,
    AskKind,
    Flags,
    HolderState,
    Released,
    room,
)
from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Kept, Named, OpenClaim
from streamward.model.ids import CameraId
from streamward.model.runner import DrainMode
from tests.support.builders import CAMERA, at
from tests.support.holder_talk import ONE, OTHER, TTL, TWO, Talk, holding, made_at, renewed


def test_what_it_holds_without_knowing_is_given_back():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.ACQUIRE, None, now=12.0)
    unknown = (Named(OTHER, TWO), Named(CAMERA, ONE))
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=12.0, unlisted=unknown), now=12.1)
    assert talk.released(12.1) == (Named(OTHER, TWO),)
    assert list(talk.holder.held(12.1)) == [CAMERA]


def test_what_an_acquire_under_way_may_just_have_earned_is_not_given_back():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=12.0, unlisted=(Named(OTHER, TWO),)), now=12.1)
    assert AskKind.RELEASE not in talk.poll(12.1)


def test_what_is_being_given_back_already_is_not_given_back_anew():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.ACQUIRE, None, now=12.0)
    talk.holder.drop(OTHER, 12.05)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=12.0, unlisted=(Named(OTHER, ONE),)), now=12.1)
    assert talk.released(12.1) == (Named(OTHER, ONE, at(12.05)),)


def test_a_release_is_repeated_until_it_is_answered():
    talk = holding(now=10.0)
    talk.holder.drop(CAMERA, 10.5)
    assert talk.released(10.5) == (Named(CAMERA, ONE, at(10.5)),)
    assert AskKind.RELEASE in talk.poll(11.5)
    talk.answer(AskKind.RELEASE, Released((CAMERA,)), now=11.6)
    assert AskKind.RELEASE not in talk.poll(13.0)


def test_a_release_answered_late_forgets_only_what_it_named():
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.holder.drop(CAMERA, 10.5)
    talk.poll(10.5)
    talk.holder.drop(OTHER, 10.6)
    talk.answer(AskKind.RELEASE, Released((CAMERA,)), now=10.7)
    assert talk.released(10.7) == (Named(OTHER, ONE, at(10.6)),)


def test_an_answer_to_a_release_leaves_alone_what_was_granted_anew_meanwhile():
    talk = holding(now=10.0)
    talk.holder.drop(CAMERA, 10.5)
    talk.poll(10.5)
    talk.acquired(CAMERA, now=10.6, generation=TWO)
    talk.answer(AskKind.RELEASE, Released((CAMERA,)), now=10.7)
    assert talk.generation(10.7) == TWO


def test_a_release_says_until_when_it_stamped_also_if_that_lies_ahead_of_now():
    talk = holding(now=10.0)
    made_at(talk, arrived=14.0)
    made_at(talk, arrived=13.0, now=14.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=-3600.0), now=12.1)  # the database's clock was set back
    talk.holder.drop(CAMERA, 14.5)
    assert talk.released(14.5) == (Named(CAMERA, ONE, at(14.0)),)


def test_dropping_what_is_not_held_gives_nothing_back():
    talk = Talk()
    talk.holder.drop(CAMERA, 1.0)
    assert AskKind.RELEASE not in talk.poll(1.0)


@pytest.mark.parametrize("kind", [AskKind.ACQUIRE, AskKind.RENEW])
def test_a_generation_that_was_given_back_is_not_revived(kind):
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.holder.drop(CAMERA, 12.1)
    answers: dict[AskKind, Answer] = {
        AskKind.ACQUIRE: Acquired(at=at(12), leases=(Kept(CAMERA, ONE, TTL),), more=False),
        AskKind.RENEW: renewed(CAMERA, now=12.0),
    }
    talk.answer(kind, answers[kind], now=12.2)
    assert list(talk.holder.held(12.2)) == []


def test_a_newer_generation_ends_the_giving_back_of_an_older_one():
    talk = holding(now=10.0)
    talk.holder.drop(CAMERA, 10.5)
    talk.acquired(CAMERA, now=10.6, generation=TWO)
    assert AskKind.RELEASE not in talk.poll(11.7)
    assert talk.generation(11.7) == TWO


@pytest.mark.parametrize("flags", [Flags(capacity=10, cordoned=True), Flags(capacity=10, drain=DrainMode.SOFT)])
def test_a_cordoned_or_draining_runner_asks_for_nothing_new(flags):
    talk = holding(now=10.0)
    talk.flags(flags, now=11.0)
    talk.hears(20.0)
    assert AskKind.ACQUIRE not in talk.poll(20.0)


def test_a_soft_drain_gives_back_a_few_at_a_time():
    cameras = tuple(CameraId(f"cam-{n}") for n in range(SOFT_DRAIN_BATCH + 2))
    talk = holding(*cameras, now=10.0)
    talk.flags(Flags(capacity=10, drain=DrainMode.SOFT), now=11.0)
    talk.poll(11.1)
    assert list(talk.holder.held(11.1)) == list(cameras[SOFT_DRAIN_BATCH:])
    talk.poll(13.0)
    assert list(talk.holder.held(13.0)) == list(cameras[SOFT_DRAIN_BATCH:])
    talk.poll(13.1)
    assert list(talk.holder.held(13.1)) == []


def test_a_soft_drain_waits_for_heirs_and_lets_go_at_once_what_they_see():
    one, two, three = cameras = tuple(CameraId(f"cam-{n}") for n in range(3))
    talk = holding(*cameras, now=10.0)
    talk.holder.handing = Handing()
    talk.flags(Flags(capacity=10, drain=DrainMode.SOFT), now=11.0)
    talk.poll(11.1)
    assert list(talk.holder.held(11.1)) == [one, two, three]
    talk.holder.handing = Handing(awaited=frozenset({one}), shown=frozenset({two}))
    talk.poll(11.2)
    assert list(talk.holder.held(11.2)) == [one, three]
    talk.poll(11.1 + NO_ONE_WITHIN)
    assert list(talk.holder.held(-math.inf)) == [one], "nobody wants the third"
    talk.poll(13.1 + HANDED_WITHIN)
    assert list(talk.holder.held(-math.inf)) == []


def test_what_moves_to_balance_is_released_when_its_successor_has_frames():
    moving = frozenset({(CAMERA, ONE), (OTHER, TWO)})
    talk = holding(CAMERA, OTHER, now=10.0)
    talk.holder.handing = Handing(awaited=frozenset({CAMERA}), moving=moving)
    talk.poll(11.0)
    assert list(talk.holder.held(11.0)) == [CAMERA, OTHER], "there are no frames yet"
    talk.holder.handing = Handing(shown=frozenset({CAMERA, OTHER}), moving=moving)
    assert talk.released(11.1) == (Named(CAMERA, ONE, at(11.1)),)
    assert list(talk.holder.held(11.1)) == [OTHER], "that was said of another grant"


def test_what_successors_have_frames_of_is_kept_unless_it_moves():
    talk = holding(now=10.0)
    talk.holder.handing = Handing(shown=frozenset({CAMERA}))
    talk.poll(11.0)
    assert list(talk.holder.held(11.0)) == [CAMERA]


def test_a_drain_that_begins_anew_waits_anew():
    talk = holding(now=10.0)
    talk.holder.handing = Handing()
    for drain in (DrainMode.SOFT, DrainMode.NONE, DrainMode.SOFT):
        talk.flags(Flags(capacity=10, drain=drain), now=11.0)
        talk.poll(11.1)
        talk.answer(AskKind.BEAT, None, now=11.1)
    talk.poll(15.0)
    assert list(talk.holder.held(-math.inf)) == [CAMERA]


@pytest.mark.parametrize("flags", [Flags(capacity=5), Flags(capacity=5, cordoned=True)])
def test_who_watches_what_will_be_its_own_asks_for_it_beyond_its_share(flags):
    talk = holding(now=10.0)
    talk.flags(flags, now=12.0)
    assert room(talk.holder) == (0 if flags.cordoned else 4)
    talk.answer(AskKind.ACQUIRE, None, now=12.0)
    talk.holder.is_watching = True
    if AskKind.ACQUIRE in talk.poll(14.0):
        assert talk.body(AskKind.ACQUIRE) == OpenClaim(owner=talk.holder.owner, limit=4, beyond_share=True)


def test_a_hard_drain_gives_everything_back_now():
    cameras = tuple(CameraId(f"cam-{n}") for n in range(9))
    talk = holding(*cameras, now=10.0)
    talk.flags(Flags(capacity=10, drain=DrainMode.HARD), now=11.0)
    assert len(talk.released(11.1)) == 9
    assert list(talk.holder.held(11.1)) == []


def test_a_superseded_incarnation_holds_nothing_and_asks_nothing_for_ever():
    talk = holding(now=10.0)
    talk.poll(12.0)
    acquire = talk.last(AskKind.ACQUIRE)
    talk.answer(AskKind.RENEW, Denied(DenialReason.INCARNATION_ENDED), now=12.1)
    talk.holder.receive(acquire, Acquired(at=at(12), leases=(Kept(OTHER, ONE, TTL),), more=False), 12.2)
    assert (talk.holder.state, list(talk.holder.held(12.2))) == (HolderState.ENDED, [])
    assert (talk.poll(99.0), talk.holder.next_due()) == ([], math.inf)


def test_any_other_denial_changes_nothing():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.ACQUIRE, Denied(DenialReason.RUNNER_CORDONED), now=12.1)
    assert (talk.holder.state, list(talk.holder.held(12.1))) == (HolderState.SERVING, [CAMERA])


def test_a_grant_whose_answer_is_closed_is_given_back_though_later_acquires_are_outstanding():
    talk = holding(now=10.0)
    for now in range(12, 24, 2):
        talk.poll(float(now))
        unlisted = (Named(OTHER, TWO),)
        talk.answer(AskKind.RENEW, renewed(CAMERA, now=float(now), unlisted=unlisted), now=now + 0.1)
        talk.holder.wake(now + 0.1)
    assert talk.holder.giving_back == {OTHER: Named(OTHER, TWO)}


def test_a_newer_grant_of_an_unlisted_camera_waits_for_its_own_acquire():
    talk = holding(now=10.0)
    talk.poll(12.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=12.0, unlisted=(Named(OTHER, ONE),)), now=12.1)
    first = talk.last(AskKind.ACQUIRE)
    talk.poll(14.0)
    talk.holder.receive(first, None, 14.0)
    talk.answer(AskKind.RENEW, renewed(CAMERA, now=14.0, unlisted=(Named(OTHER, TWO),)), now=14.1)
    assert OTHER not in talk.holder.giving_back


def test_a_grant_that_was_never_heard_of_is_given_back_without_a_stamp():
    talk = holding(now=10.0)
    made_at(talk, arrived=11.5)
    talk.poll(12.0)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(12), leases=(), more=False), now=12.1)
    talk.answer(AskKind.RENEW, renewed(now=12.0, lost=(CAMERA,), unlisted=(Named(CAMERA, TWO),)), now=12.1)
    assert talk.released(12.2) == (Named(CAMERA, TWO),)


def test_who_leaves_gives_everything_back_takes_nothing_more_and_has_then_ended():
    talk = Talk().acquired(CAMERA, OTHER, now=10.0)
    talk.holder.leave(11.0)
    assert (talk.holder.state, talk.holder.held(11.0)) == (HolderState.LEAVING, {})
    assert {named.camera_id for named in talk.released(11.0)} == {CAMERA, OTHER}
    talk.holder.wake(11.1)
    assert AskKind.ACQUIRE not in talk.poll(11.1)
    talk.answer(AskKind.RELEASE, Released((CAMERA, OTHER)), now=11.2)
    assert talk.holder.state is HolderState.ENDED
    talk.holder.leave(11.3)
    assert talk.holder.state is HolderState.ENDED


def test_what_is_granted_to_somebody_who_leaves_is_given_back_too():
    talk = Talk()
    talk.holder.wake(10.0)
    talk.poll(10.0)
    talk.holder.leave(10.1)
    assert talk.holder.state is HolderState.ENDED  # there was nothing to give back
    talk = Talk().acquired(OTHER, now=10.0)
    talk.holder.wake(10.2)
    talk.poll(10.2)
    talk.holder.leave(10.3)
    talk.answer(AskKind.ACQUIRE, Acquired(at=at(10.4), leases=(Kept(CAMERA, ONE, TTL),), more=False), now=10.4)
    assert {named.camera_id for named in talk.released(10.5)} == {CAMERA, OTHER}


def test_what_was_given_back_and_is_still_listed_is_given_back_again_whatever_is_outstanding():
    talk = holding(now=10.0)
    talk.holder.drop(CAMERA, 10.5)
    talk.poll(10.5)
    talk.answer(AskKind.RELEASE, Released((CAMERA,)), now=10.6)
    talk.holder.wake(11.0)
    talk.poll(12.0)
    assert talk.last(AskKind.ACQUIRE).sent >= 11.0, "it is outstanding"
    talk.answer(AskKind.RENEW, renewed(now=12.0, unlisted=(Named(CAMERA, ONE),)), now=12.1)
    assert list(talk.holder.giving_back) == [CAMERA]
