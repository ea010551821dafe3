"""Who may watch a camera before it holds it, and for how long."""

from dataclasses import replace
from datetime import timedelta

from streamward.leases.handover import (
    HANDED_WITHIN,
    MOVED_WITHIN,
    NO_ONE_WITHIN,
    REFUSED_FOR,
    SETTLES_FOR,
    WATCHED_FOR,
    Handing,
    Handover,
    HandoverAsk,
    HandoverStage,
    HandoversTold,
    Offer,
    Watching,
    plan,
    told,
    unawaited,
)
from streamward.leases.lease import Owner
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId
from tests.support.builders import START, a_camera

OLD, HEIR, OTHER = (Owner(RunnerId(name), Incarnation(f"{name}-1")) for name in ("old", "heir", "other"))
ONE, TWO = CameraId("cam-1"), CameraId("cam-2")
G = Generation(3)


def a_handover(camera_id: CameraId = ONE, stage: HandoverStage = HandoverStage.AWAITED, *, lasts: float = 5.0):
    until = START + timedelta(seconds=lasts)
    return Handover(camera_id=camera_id, generation=G, heir=HEIR, stage=stage, until=until)


def an_offer(camera_id: CameraId = ONE, handover: Handover | None = None) -> Offer:
    return Offer(camera=a_camera(camera_id), generation=G, owner=OLD, handover=handover)


def planned(ask: HandoverAsk, *offers: Offer, share: int = 9, suits: bool = True) -> dict[CameraId, HandoverStage]:
    handovers = plan(ask, offers, share=share, suits=lambda _: suits, now=START)
    assert {each.heir for each in handovers} <= {ask.owner}
    return {each.camera_id: each.stage for each in handovers}


def test_a_runner_gets_what_room_and_share_allow():
    both = [an_offer(TWO), an_offer(ONE)]
    assert planned(HandoverAsk(owner=HEIR, room=2), *both) == dict.fromkeys((ONE, TWO), HandoverStage.AWAITED)
    assert planned(HandoverAsk(owner=HEIR, room=1), *both) == {ONE: HandoverStage.AWAITED}
    assert planned(HandoverAsk(owner=HEIR, room=2), *both, share=1) == {ONE: HandoverStage.AWAITED}
    assert planned(HandoverAsk(owner=HEIR), *both) == planned(HandoverAsk(owner=HEIR, room=2), *both, share=-1) == {}


def test_neither_its_own_cameras_nor_what_does_not_suit_it_nor_what_has_an_heir_are_a_runners_to_watch():
    assert planned(HandoverAsk(owner=OLD, room=1), an_offer()) == {}
    assert planned(HandoverAsk(owner=HEIR, room=1), an_offer(), suits=False) == {}
    assert planned(HandoverAsk(owner=OTHER, room=1), an_offer(handover=a_handover())) == {}


def test_a_camera_is_on_offer_again_when_its_heir_says_nothing_or_its_grant_is_another():
    ask = HandoverAsk(owner=OTHER, room=1)
    assert planned(ask, an_offer(handover=a_handover(lasts=0.0))) == {ONE: HandoverStage.AWAITED}
    stale = replace(a_handover(), generation=Generation(2))
    assert planned(ask, an_offer(handover=stale)) == {ONE: HandoverStage.AWAITED}


def test_an_heirs_word_goes_on_with_it():
    known = an_offer(handover=a_handover(lasts=1.0))
    for word, stage, lasts in (
        (HandoverAsk(owner=HEIR), HandoverStage.AWAITED, WATCHED_FOR),
        (HandoverAsk(owner=HEIR, shown=frozenset({ONE})), HandoverStage.SHOWN, WATCHED_FOR),
        (HandoverAsk(owner=HEIR, refused=frozenset({ONE})), HandoverStage.REFUSED, REFUSED_FOR),
    ):
        assert plan(word, [known], share=0, suits=bool, now=START) == [a_handover(stage=stage, lasts=lasts)]
    refused = a_handover(stage=HandoverStage.REFUSED)
    assert plan(HandoverAsk(owner=HEIR), [an_offer(handover=refused)], share=0, suits=bool, now=START) == [refused]


def test_the_heir_is_told_what_to_watch_and_the_owner_how_its_cameras_do():
    offers = [
        an_offer(ONE, a_handover()),
        an_offer(TWO, a_handover(TWO, HandoverStage.SHOWN)),
        an_offer(CameraId("cam-3"), a_handover(CameraId("cam-3"), HandoverStage.REFUSED)),
        an_offer(CameraId("cam-4")),
    ]
    assert [camera.camera_id for camera, _ in told(HandoverAsk(owner=HEIR), offers, START).watch] == [ONE, TWO]
    handing = Handing(awaited=frozenset({ONE}), shown=frozenset({TWO}))
    assert told(HandoverAsk(owner=OLD), offers, START) == HandoversTold(handing=handing)
    assert told(HandoverAsk(owner=OTHER), offers, START) == HandoversTold()


def test_a_free_camera_is_kept_from_all_but_its_heir_while_that_speaks():
    assert a_handover().reserves(G, against=OTHER, now=START)
    assert not a_handover().reserves(G, against=HEIR, now=START)
    assert not a_handover(stage=HandoverStage.REFUSED).reserves(G, against=OTHER, now=START)
    assert not a_handover().reserves(Generation(4), against=OTHER, now=START)
    assert not a_handover(lasts=0.0).reserves(G, against=OTHER, now=START)


def test_one_from_before_the_databases_clock_went_back_does_not_count():
    assert not a_handover(lasts=WATCHED_FOR + 0.1).counts(G, START)
    assert a_handover(stage=HandoverStage.REFUSED, lasts=REFUSED_FOR).counts(G, START)


def test_a_runner_watches_what_it_was_told_until_that_runs_out():
    watching = Watching()
    watching.heard({ONE: G}, asked=10.0)
    assert watching.watched(10.0) == {ONE: 4}
    watching.heard({}, asked=11.0)
    assert watching.watched(10.0 + WATCHED_FOR) == {}
    watching.keep((), 10.0 + WATCHED_FOR)
    watching.looked(shown=[ONE], refused=[])
    assert watching.ask(HEIR, room=3, now=12.0) == HandoverAsk(owner=HEIR, room=3)


def test_a_runner_tells_what_it_sees_and_watches_no_more_what_it_cannot_see():
    watching = Watching()
    watching.heard({ONE: G, TWO: G}, asked=10.0)
    watching.looked(shown=[ONE, CameraId("cam-9")], refused=[ONE, TWO])
    ask = watching.ask(HEIR, room=2, now=10.0)
    assert (ask.room, ask.shown, ask.refused) == (1, frozenset({ONE}), frozenset({TWO}))
    assert watching.watched(10.0) == {ONE: 4}
    watching.keep([ONE], 10.0)
    assert watching.watched(10.0) == {}


def test_what_was_seen_under_an_earlier_grant_says_nothing_about_the_next():
    watching = Watching()
    watching.heard({ONE: G}, asked=10.0)
    watching.looked(shown=[ONE], refused=[])
    watching.heard({ONE: G}, asked=11.0)
    assert watching.ask(HEIR, room=1, now=11.0).shown == {ONE}
    watching.heard({ONE: Generation(5)}, asked=12.0)
    assert watching.ask(HEIR, room=1, now=12.0).shown == frozenset()
    assert watching.watched(12.0) == {ONE: 6}


def test_another_stage_or_a_good_deal_more_time_is_news():
    known = a_handover(lasts=5.0)
    assert known.is_news(None)
    assert a_handover(stage=HandoverStage.SHOWN).is_news(known)
    assert not a_handover(lasts=5.5).is_news(known)
    assert a_handover(lasts=7.0).is_news(known)


def test_an_owner_waits_for_heirs_and_not_for_ever():
    handing = Handing(awaited=frozenset({ONE}))
    assert unawaited([ONE, TWO], handing, waited=NO_ONE_WITHIN - 0.1) == []
    assert unawaited([ONE, TWO], handing, waited=NO_ONE_WITHIN) == [TWO]
    assert unawaited([ONE, TWO], handing, waited=HANDED_WITHIN) == [ONE, TWO]
    assert unawaited([ONE, TWO], None, waited=0.0) == [ONE, TWO], "nobody says who watches"


def a_move(stage: HandoverStage = HandoverStage.AWAITED, *, begun: float = 0.0, lasts: float = 5.0) -> Handover:
    deadline = START + timedelta(seconds=begun + MOVED_WITHIN)
    move: Handover = replace(a_handover(stage=stage, lasts=lasts), deadline=deadline)
    return move


def test_a_move_counts_until_its_deadline_and_a_refusal_for_longer():
    late = 0.1 - MOVED_WITHIN
    assert a_move(begun=late).counts(G, START)
    assert not a_move(begun=late - 0.1).counts(G, START)
    assert not a_move(begun=0.1).counts(G, START), "the database's clock went back"
    assert a_move(HandoverStage.REFUSED, begun=late - 0.1).counts(G, START)


def test_a_move_that_is_done_or_failed_settles():
    done, failed, another = Generation(G + 1), G, Generation(G + 2)
    for generation, settles in ((done, True), (failed, True), (another, False), (Generation(G - 1), False)):
        assert a_move().settles(generation, START) is settles
    assert not a_move().settles(done, START + timedelta(seconds=SETTLES_FOR))
    assert not a_move(begun=1.0).settles(done, START), "the database's clock went back"
    assert not a_handover().settles(done, START), "that was a drain"
    assert an_offer(handover=a_move()).settles(START)
    assert not an_offer().settles(START)


def test_the_owner_is_told_which_of_its_cameras_move():
    shown = an_offer(handover=a_move(HandoverStage.SHOWN))
    refused = an_offer(TWO, replace(a_move(HandoverStage.REFUSED), camera_id=TWO))
    drained = an_offer(CameraId("cam-3"), a_handover(CameraId("cam-3")))
    handing = told(HandoverAsk(owner=OLD), [shown, refused, drained], START).handing
    assert handing == Handing(
        awaited=frozenset({CameraId("cam-3")}), shown=frozenset({ONE}), moving=frozenset({(ONE, G)})
    )
    assert handing.moved({ONE: G, TWO: G}) == [ONE]
    assert handing.moved({ONE: Generation(4)}) == []


def test_a_successors_word_leaves_the_deadline_of_a_move():
    goes_on = plan(HandoverAsk(owner=HEIR), [an_offer(handover=a_move(lasts=1.0))], share=0, suits=bool, now=START)
    assert goes_on == [a_move()]


def test_a_runner_that_is_full_does_not_say_that_it_sees_what_it_cannot_take():
    watching = Watching()
    watching.heard({ONE: G, TWO: G}, asked=0.0)
    watching.looked(shown=[ONE, TWO], refused=[])
    for room, said in ((2, {ONE, TWO}), (1, {ONE}), (0, set()), (-1, set())):
        assert watching.ask(HEIR, room=room, now=1.0).shown == said
