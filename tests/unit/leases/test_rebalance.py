"""Which cameras move so that runners hold equally many."""

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from streamward.leases.handover import MOVED_WITHIN, SETTLES_FOR, Handover, HandoverStage, Offer
from streamward.leases.lease import Owner
from streamward.leases.placement import ASKS_WITHIN
from streamward.leases.rebalance import MOST_AT_ONCE, Rebalance, RebalanceAsk, handover_of, plan
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.model.runner import DrainMode, Runner
from tests.support.builders import START, TENANT, a_camera, a_runner, at

G = Generation(3)


def a_named(name: str, **changes: object) -> Runner:
    runner = replace(a_runner(), runner_id=RunnerId(name), incarnation=Incarnation(f"{name}-1"), last_seen_at=START)
    return replace(runner, **changes)  # type: ignore[arg-type] # a test's own names


def the_owner(name: str) -> Owner:
    return Owner(RunnerId(name), Incarnation(f"{name}-1"))


def held(name: str, count: int, *, first: int = 0, tenant: str = TENANT, site: str = "site-1") -> list[Offer]:
    return [
        Offer(camera=a_camera(f"cam-{number:03}", tenant=tenant, site=site), generation=G, owner=the_owner(name))
        for number in range(first, first + count)
    ]


def moving(offer: Offer, to: str, stage: HandoverStage = HandoverStage.AWAITED, *, lasts: float = 5.0) -> Offer:
    """The same with a handover that began at the start."""
    handover = Handover(
        camera_id=offer.camera.camera_id,
        generation=offer.generation,
        heir=the_owner(to),
        stage=stage,
        until=at(lasts),
        deadline=at(MOVED_WITHIN),
    )
    return replace(offer, handover=handover)


def planned(
    runners: list[Runner], offers: list[Offer], ask: RebalanceAsk | None = None, *, now: float = 0
) -> Rebalance:
    return plan(runners, offers, ask or RebalanceAsk(), now=at(now))


def carried_out(offers: list[Offer], done: Rebalance) -> list[Offer]:
    """What is held when all moves have been done."""
    to = {move.camera_id: move.successor for move in done.moves}
    return [replace(each, owner=to.get(each.camera.camera_id, each.owner)) for each in offers]


def test_half_of_a_fleet_moves_to_a_runner_that_came_late():
    done = planned([a_named("a"), a_named("b")], held("a", 12))
    assert (len(done.moves), done.left, done.under_way) == (6, 0, 0)
    assert (done.before, done.after) == ({"a": 12, "b": 0}, {"a": 6, "b": 6})
    assert [move.camera_id for move in done.moves] == [f"cam-{number:03}" for number in range(6)]
    assert {(move.owner, move.successor, move.generation, move.tenant_id) for move in done.moves} == {
        (the_owner("a"), the_owner("b"), G, TENANT)
    }


@pytest.mark.parametrize("shares", [(), (5,), (2, 3), (0, 1), (4, 4, 5)])
def test_a_fleet_in_balance_gets_no_move(shares: tuple[int, ...]):
    names = [f"runner-{number}" for number in range(len(shares))]
    offers = [each for number, name in enumerate(names) for each in held(name, shares[number], first=100 * number)]
    assert planned([a_named(name) for name in names], offers).moves == ()


def test_a_round_is_bounded_and_says_how_many_are_left():
    runners, offers = [a_named("a", capacity=100), a_named("b", capacity=100)], held("a", 60)
    done = planned(runners, offers)
    assert (len(done.moves), done.left, done.after) == (MOST_AT_ONCE, 10, {"a": 40, "b": 20})
    assert len(planned(runners, offers, RebalanceAsk(most=3)).moves) == 3


def test_what_is_under_way_counts_as_done_and_towards_the_bound():
    first, *rest = held("a", 6)
    runners = [a_named("a"), a_named("b")]
    done = planned(runners, [moving(first, "b"), *rest], RebalanceAsk(most=2))
    assert (len(done.moves), done.left, done.under_way, done.after) == (1, 1, 1, {"a": 4, "b": 2})
    assert done.before == {"a": 6, "b": 0}
    assert planned(runners, [moving(first, "b"), *rest], RebalanceAsk(most=1)).moves == ()


def test_a_handover_to_a_runner_that_is_not_there_changes_no_shares():
    first, *rest = held("a", 4)
    done = planned([a_named("a"), a_named("b")], [moving(first, "gone"), *rest])
    assert (len(done.moves), done.after) == (2, {"a": 2, "b": 2})


def test_a_handover_of_a_drain_is_not_counted_as_a_move():
    first, *rest = held("a", 4)
    drained = moving(first, "b")
    assert drained.handover is not None
    offers = [replace(drained, handover=replace(drained.handover, deadline=None)), *rest]
    assert planned([a_named("a", drain=DrainMode.SOFT), a_named("b")], offers).under_way == 0


def test_a_camera_that_a_successor_refused_stays_and_others_go():
    first, *rest = held("a", 4)
    refused = moving(first, "b", HandoverStage.REFUSED, lasts=60.0)
    done = planned([a_named("a"), a_named("b")], [refused, *rest])
    assert [move.camera_id for move in done.moves] == ["cam-001", "cam-002"]
    assert done.under_way == 0


@pytest.mark.parametrize("generation", [G, G + 1])
def test_a_camera_is_not_moved_twice_within_its_settle_time_whether_that_was_done_or_failed(generation: int):
    runners, offers = (
        [a_named("a"), a_named("b")],
        [replace(moving(each, "a"), generation=Generation(generation)) for each in held("a", 2)],
    )
    heard = [replace(each, last_seen_at=at(SETTLES_FOR)) for each in runners]
    assert planned(heard, offers, now=SETTLES_FOR - 0.1).moves == ()
    assert len(planned(heard, offers, now=SETTLES_FOR).moves) == 1


def test_what_may_not_leave_stays():
    runners = [a_named("a"), a_named("b")]
    unwanted = [replace(each, camera=replace(each.camera, enabled=False)) for each in held("a", 4)]
    assert planned(runners, unwanted).moves == ()
    assert planned([a_named("a", drain=DrainMode.HARD), a_named("b")], held("a", 4)).moves == ()
    silent = START - timedelta(seconds=ASKS_WITHIN + 1)
    assert planned([a_named("a", last_seen_at=silent), a_named("b")], held("a", 4)).moves == ()
    earlier = [replace(each, owner=Owner(RunnerId("a"), Incarnation("a-0"))) for each in held("a", 4)]
    assert planned(runners, earlier).moves == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"cordoned": True},
        {"drain": DrainMode.SOFT},
        {"capacity": 0},
        {"incarnation": None},
        {"tenant_id": TenantId("tenant-9")},
        {"site_id": SiteId("site-9")},
        {"answer_delay": 2.0},
        {"last_seen_at": START - timedelta(seconds=ASKS_WITHIN + 1)},
    ],
)
def test_a_runner_that_may_not_have_them_gets_none(changes: dict[str, object]):
    assert planned([a_named("a"), a_named("b", **changes)], held("a", 4)).moves == ()


def test_no_successor_gets_more_than_its_capacity():
    done = planned([a_named("a"), a_named("b", capacity=2)], held("a", 12))
    assert (done.after, done.left) == ({"a": 10, "b": 2}, 0)


def test_a_tenants_round_moves_its_own_cameras_only_and_counts_all():
    offers = [*held("a", 4, tenant="tenant-2"), *held("a", 2, first=4)]
    runners = [a_named("a", tenant_id=None), a_named("b", tenant_id=None)]
    done = planned(runners, offers, RebalanceAsk(scope=TENANT))
    assert [move.camera_id for move in done.moves] == ["cam-004", "cam-005"]
    assert (done.left, done.after) == (0, {"a": 4, "b": 2})


def test_a_move_is_a_handover_with_a_deadline():
    move = planned([a_named("a"), a_named("b")], held("a", 2)).moves[0]
    expected = moving(held("a", 1)[0], "b").handover
    assert handover_of(move, START) == expected


@pytest.mark.parametrize("seed", range(50))
def test_rounds_end_and_none_makes_it_worse(seed: int):
    rng = random.Random(seed)
    sites = [None, None, SiteId("site-1"), SiteId("site-2")]
    runners = [
        a_named(f"r{number}", site_id=rng.choice(sites), capacity=rng.randint(1, 30))
        for number in range(rng.randint(1, 6))
    ]
    offers = [
        replace(held(rng.choice(runners).runner_id, 1, first=number)[0], camera=a_camera(f"cam-{number:03}", site=site))
        for number in range(rng.randint(0, 40))
        for site in [rng.choice(("site-1", "site-2"))]
    ]
    for _ in range(len(offers) + 1):
        done = planned(runners, offers, RebalanceAsk(most=rng.randint(1, 5)))
        if not done.moves:
            break
        after = carried_out(offers, done)
        assert _squares(after) < _squares(offers)
        offers = after
    assert (done.moves, done.left) == ((), 0)


def _squares(offers: list[Offer]) -> int:
    return sum(count**2 for count in Counter(each.owner for each in offers).values())


def test_a_camera_moves_once_in_a_round():
    names = ["a", "b", "c"]
    done = planned([a_named(name) for name in names], [*held("a", 9), *held("b", 3, first=20)])
    moved = Counter(CameraId(move.camera_id) for move in done.moves)
    assert set(moved.values()) == {1}
    assert set(done.after.values()) == {4}
