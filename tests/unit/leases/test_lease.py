"""The rule of leases, branch by branch; what random owners and clocks make of it is the property below."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamward.leases.clock_guard import BLIND, TOLERANCE, ClockView
from streamward.leases.lease import MOVES, NEVER, TICK, DenialReason, Denied, Lease, Owner, SessionState, echo_fits
from streamward.model.ids import Generation
from tests.support.builders import CAMERA, START, a_lease, an_owner, at, steady, terms

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
FREE = Lease(camera_id=CAMERA)

PENDING, ACTIVE, PAUSED, ORPHANED, TERMINATED = SessionState
# What stores do to a row by themselves: delete and re-create its camera, and note that a pipeline did not start.
BY_THE_STORE = {(state, TERMINATED) for state in SessionState if state is not TERMINATED} | {
    (TERMINATED, PENDING),
    (TERMINATED, ACTIVE),
    (ACTIVE, PAUSED),
}


def in_state(state: SessionState) -> Lease:
    return FREE if state is PENDING else a_lease(owner=ONE, state=state)


def moves_from(state: SessionState) -> set[SessionState]:
    """Where every operation, by its owner or another, in time or late, leads."""
    lease, late = in_state(state), at(100)
    results = [
        lease.acquire(ONE, terms(), now=late, clock=steady(late)),
        lease.acquire(TWO, terms(), now=late, clock=steady(late)),
        lease.renew(ONE, lease.generation, ttl=8.0, now=late),
        lease.release(ONE, lease.generation, made_until=None, now=late, clock=BLIND),
        lease.orphaned(now=late, clock=steady(late)),
    ]
    return {result.state for result in results if isinstance(result, Lease)} - {state}


@pytest.mark.parametrize("to", SessionState)
@pytest.mark.parametrize("state", SessionState)
def test_every_move_is_in_the_table_and_every_pair_of_the_table_can_happen(state, to):
    happens = to in moves_from(state) or (state, to) in BY_THE_STORE
    assert happens == (to in MOVES[state])


def test_a_lease_that_is_given_back_after_its_camera_was_deleted_stays_terminated():
    gone = in_state(TERMINATED).release(ONE, None, made_until=None, now=at(1), clock=BLIND)
    assert gone is not None
    assert (gone.owner, gone.state) == (None, TERMINATED)


def test_a_renewal_never_shortens_the_ttl_for_an_owner_may_have_missed_the_answer():
    lease = a_lease(owner=ONE)
    shorter = lease.renew(ONE, lease.generation, ttl=5.0, now=at(2))
    longer = lease.renew(ONE, lease.generation, ttl=20.0, now=at(2))
    assert isinstance(shorter, Lease)
    assert isinstance(longer, Lease)
    assert (shorter.ttl, shorter.expires_at) == (8.0, at(10))
    assert (longer.ttl, longer.expires_at) == (20.0, at(22))


def test_a_free_camera_is_granted_in_the_next_generation():
    lease = FREE.acquire(ONE, terms(ttl=8.0, soft_for=600.0), now=START, clock=BLIND)
    assert lease == Lease(
        camera_id=CAMERA,
        generation=Generation(1),
        owner=ONE,
        state=ACTIVE,
        ttl=8.0,
        soft_for=600.0,
        granted_at=START + TICK,
        expires_at=at(8),
        not_before=NEVER,
    )


def test_a_fresh_lease_is_denied_to_others():
    assert a_lease(owner=ONE).acquire(TWO, terms(), now=at(7.9), clock=steady(at(7.9))) == Denied(DenialReason.HELD)


def test_a_repeated_acquire_of_the_same_incarnation_keeps_the_generation_and_extends():
    again = a_lease(owner=ONE).acquire(ONE, terms(ttl=9.0), now=at(5), clock=BLIND)
    assert again == replace(a_lease(owner=ONE), ttl=9.0, expires_at=at(14), not_before=START)


def test_another_incarnation_of_the_same_runner_is_a_stranger():
    newer = an_owner("runner-1", incarnation="inc-2")
    assert a_lease(owner=ONE).acquire(newer, terms(), now=at(1), clock=steady(at(1))) == Denied(DenialReason.HELD)


def test_an_expired_lease_goes_to_the_next_who_asks():
    taken = a_lease(owner=ONE).acquire(TWO, terms(), now=at(8), clock=steady(at(8)))
    assert isinstance(taken, Lease)
    assert (taken.owner, taken.generation, taken.granted_at) == (TWO, 2, at(8) + TICK)


def test_nothing_is_expired_for_a_clock_that_may_not_judge():
    lease = a_lease(owner=ONE)
    assert lease.acquire(TWO, terms(), now=at(100), clock=BLIND) == Denied(DenialReason.HELD)
    assert lease.orphaned(now=at(100), clock=BLIND) is None
    assert not lease.is_expired(at(100), BLIND)


@pytest.mark.parametrize(("now", "is_open"), [(at(8), False), (at(17.9), False), (at(18), True)])
def test_inside_its_soft_window_an_expired_lease_is_open_to_its_owner_only(now, is_open):
    lease = a_lease(owner=ONE, soft_for=10.0)
    assert lease.is_open(now, steady(now)) is is_open
    outcome = lease.acquire(TWO, terms(), now=now, clock=steady(now))
    assert isinstance(outcome, Lease) if is_open else outcome == Denied(DenialReason.SOFT_WINDOW)
    assert isinstance(lease.acquire(ONE, terms(), now=now, clock=steady(now)), Lease)


def test_a_late_renewal_brings_an_untaken_lease_back_in_its_generation():
    orphan = a_lease(owner=ONE, state=ORPHANED)
    renewed = orphan.renew(ONE, Generation(1), ttl=8.0, now=at(60))
    assert renewed == replace(a_lease(owner=ONE), expires_at=at(68), not_before=START)


@pytest.mark.parametrize(
    ("owner", "generation"), [(TWO, 1), (an_owner("runner-1", incarnation="inc-2"), 1), (ONE, 0), (ONE, 2)]
)
def test_renewal_and_release_by_anybody_but_the_exact_grant_change_nothing(owner, generation):
    lease = a_lease(owner=ONE)
    assert lease.renew(owner, Generation(generation), ttl=8.0, now=at(1)) is None
    assert lease.release(owner, Generation(generation), made_until=None, now=at(1), clock=BLIND) is None


def test_a_renewal_does_not_wake_a_paused_pipeline():
    renewed = a_lease(owner=ONE, state=PAUSED).renew(ONE, Generation(1), ttl=8.0, now=at(1))
    assert isinstance(renewed, Lease)
    assert renewed.state is PAUSED


@pytest.mark.parametrize("generation", [None, Generation(1)])
def test_a_released_camera_is_free_and_its_next_grant_is_not_dated_ahead(generation):
    freed = a_lease(owner=ONE).release(ONE, generation, made_until=at(3), now=at(2), clock=BLIND)
    assert freed is not None
    assert (freed.owner, freed.state, freed.generation) == (None, PENDING, 1)
    assert (freed.ended_at, freed.made_until) == (at(2), at(3))
    taken = freed.acquire(TWO, terms(), now=at(2), clock=BLIND)
    assert isinstance(taken, Lease)
    assert taken.granted_at == at(2) + TICK
    assert (taken.ended_at, taken.made_until) == (None, None)


def test_a_release_that_names_no_last_stamp_counts_with_the_moment_of_the_release():
    freed = a_lease(owner=ONE).release(ONE, None, made_until=None, now=at(2), clock=BLIND)
    assert freed is not None
    assert (freed.ended_at, freed.made_until) == (at(2), at(2))


@pytest.mark.parametrize(("now", "latest"), [(at(2), at(8)), (at(20), at(20))])
def test_no_release_reaches_beyond_the_expiry_or_its_own_moment(now, latest):
    freed = a_lease(owner=ONE).release(ONE, None, made_until=at(1e6), now=now, clock=BLIND)
    assert freed is not None
    assert freed.made_until == latest


def test_a_grant_does_not_end_before_it_began():
    ahead = replace(a_lease(owner=ONE), granted_at=at(5), not_before=at(5))
    freed = ahead.release(ONE, None, made_until=None, now=at(2), clock=BLIND)
    assert freed is not None
    assert (freed.ended_at, freed.made_until) == (at(5), at(2))


def test_whoever_releases_all_after_its_processes_ended_may_have_stamped_until_the_expiry():
    freed = a_lease(owner=ONE).released_with_all(now=at(2), clock=BLIND)
    assert (freed.owner, freed.ended_at, freed.made_until) == (None, at(2), at(8))


def test_a_withdrawn_grant_ends_at_once_and_keeps_its_owner_until_it_releases():
    withdrawn = a_lease(owner=ONE).withdrawn(at(2))
    assert (withdrawn.owner, withdrawn.state) == (ONE, ACTIVE)
    assert (withdrawn.ended_at, withdrawn.made_until) == (at(2), at(2))
    assert withdrawn.renew(ONE, Generation(1), ttl=8.0, now=at(3)) is None
    for owner in (ONE, TWO):
        assert withdrawn.acquire(owner, terms(), now=at(3), clock=steady(at(3))) == Denied(DenialReason.HELD)
    freed = withdrawn.release(ONE, Generation(1), made_until=at(5), now=at(4), clock=BLIND)
    assert freed is not None
    assert (freed.owner, freed.ended_at, freed.made_until) == (None, at(2), at(2))


def test_a_withdrawn_lease_has_no_soft_window():
    withdrawn = a_lease(owner=ONE, soft_for=600.0).withdrawn(at(2))
    for owner in (ONE, TWO):
        taken = withdrawn.acquire(owner, terms(), now=at(8), clock=steady(at(8)))
        assert isinstance(taken, Lease)
        assert taken.generation == 2


def test_a_camera_that_was_never_granted_has_nothing_to_withdraw():
    assert FREE.withdrawn(at(2)) == FREE


@pytest.mark.parametrize(
    ("echo", "fits"),
    [(None, True), (at(0), True), (at(0) - TICK, False), (at(9), True), (at(9) + TICK, False), (at(8), True)],
)
def test_a_lease_is_extended_only_for_an_owner_that_receives_answers(echo, fits):
    lease, now = a_lease(owner=ONE), at(8)
    assert echo_fits(echo, ttl=8.0, now=now) is fits
    renewed = lease.renew(ONE, Generation(1), ttl=8.0, now=now, echo=echo)
    again = lease.acquire(ONE, terms(), now=now, clock=BLIND, echo=echo)
    if fits:
        assert isinstance(renewed, Lease)
        assert renewed == again
    else:
        assert renewed == again == Denied(DenialReason.BUSY)


def test_a_claim_that_was_on_its_way_for_longer_than_a_ttl_is_given_nothing():
    assert FREE.acquire(ONE, terms(), now=at(8), clock=BLIND, echo=at(0) - TICK) == Denied(DenialReason.BUSY)
    assert isinstance(FREE.acquire(ONE, terms(), now=at(8), clock=BLIND, echo=at(0)), Lease)


def test_a_grant_is_dated_after_what_the_clock_showed_before_it_was_set_back():
    set_back = ClockView(expected_at=at(2), steady_for=0.0, floor=at(2.05))
    freed = a_lease(owner=ONE).release(ONE, None, made_until=None, now=at(2), clock=set_back)
    assert freed is not None
    for clock_now in (BLIND, set_back):
        taken = freed.acquire(TWO, terms(), now=at(2), clock=clock_now)
        assert isinstance(taken, Lease)
        assert taken.granted_at == at(2.05) + TICK


def test_the_keeper_orphans_what_expired_and_nothing_else():
    lease = a_lease(owner=ONE)
    assert lease.orphaned(now=at(7), clock=steady(at(7))) is None
    assert lease.orphaned(now=at(8), clock=steady(at(8))) == replace(lease, state=ORPHANED)
    assert FREE.orphaned(now=at(8), clock=steady(at(8))) is None


def test_a_lease_from_ahead_of_the_clock_counts_as_expired_also_inside_its_soft_window():
    lease = a_lease(owner=ONE, soft_for=600.0)
    edge = START - timedelta(seconds=TOLERANCE)
    assert not lease.is_expired(edge, steady(edge))
    assert lease.is_expired(edge - TICK, steady(edge - TICK))
    assert lease.is_open(edge - TICK, steady(edge - TICK))


def test_after_the_clock_was_set_back_the_next_grant_is_still_dated_after_the_last_owner():
    lease, earlier = a_lease(owner=ONE), at(-3600)
    taken = lease.acquire(TWO, terms(), now=earlier, clock=steady(earlier))
    assert isinstance(taken, Lease)
    assert taken.granted_at == at(8) + TICK
    assert taken.expires_at == earlier + timedelta(seconds=8)


def test_a_renewal_after_the_clock_was_set_back_remembers_what_was_stamped_before():
    renewed = a_lease(owner=ONE).renew(ONE, Generation(1), ttl=8.0, now=at(-3600))
    assert isinstance(renewed, Lease)
    assert renewed.not_before == at(8)


def test_nobody_gets_the_lease_of_a_deleted_camera():
    gone = a_lease(owner=ONE, state=TERMINATED)
    assert gone.renew(ONE, Generation(1), ttl=8.0, now=at(1)) is None
    for owner in (ONE, TWO):
        outcome = gone.acquire(owner, terms(), now=at(100), clock=steady(at(100)))
        assert outcome == Denied(DenialReason.CAMERA_UNKNOWN)


@dataclass
class World:
    """One camera, a database clock that anyone may set, and the dates of the records that the fence accepted."""

    lease: Lease = FREE
    now: datetime = START
    furthest: datetime = START  # that the clock ever showed
    latest_record: datetime = NEVER
    grants: list[Lease] = field(default_factory=list)

    def view(self, *, sees: bool) -> ClockView:
        return replace(steady(self.now) if sees else BLIND, floor=self.furthest)

    def take(self, after: "Lease | Denied | None") -> None:
        if not isinstance(after, Lease):
            return
        if after.generation != self.lease.generation:
            self.check_grant(after)
        self.lease = after

    def check_grant(self, grant: Lease) -> None:
        assert grant.generation == self.lease.generation + 1
        assert grant.granted_at > self.latest_record
        assert grant.granted_at > (self.lease.ended_at or NEVER)
        assert not self.grants or grant.granted_at > self.grants[-1].granted_at
        self.grants.append(grant)

    def store_record(self) -> None:
        """The newest owner's record comes to the sink, stamped on the late side."""
        if self.lease.generation:
            date = max(self.lease.granted_at, min(self.now, self.lease.ended_at or self.now))
            self.latest_record = max(self.latest_record, date)


Step = Callable[[World], None]


def acquire(owner: Owner, sees: bool) -> Step:
    return lambda world: world.take(world.lease.acquire(owner, terms(), now=world.now, clock=world.view(sees=sees)))


def renew(owner: Owner, generation: int) -> Step:
    return lambda world: world.take(
        world.lease.renew(owner, Generation(world.lease.generation - generation), ttl=8.0, now=world.now)
    )


def release(owner: Owner, lead: float | None) -> Step:
    def step(world: World) -> None:
        made_until = None if lead is None else world.now + timedelta(seconds=lead)
        clock = world.view(sees=True)
        world.take(world.lease.release(owner, None, made_until=made_until, now=world.now, clock=clock))

    return step


def withdraw() -> Step:
    return lambda world: world.take(world.lease.withdrawn(world.now))


def orphan() -> Step:
    return lambda world: world.take(world.lease.orphaned(now=world.now, clock=world.view(sees=True)))


def clock(seconds: float) -> Step:
    def move(world: World) -> None:
        world.now += timedelta(seconds=seconds)
        world.furthest = max(world.furthest, world.now)

    return move


owners = st.sampled_from([ONE, TWO, an_owner("runner-1", incarnation="inc-2")])
steps = st.one_of(
    st.builds(acquire, owners, st.sampled_from([True, True, False])),
    st.builds(renew, owners, st.sampled_from([0, 0, 1])),
    st.builds(release, owners, st.sampled_from([None, -3.0, 0.0, 2.0])),
    st.builds(withdraw),
    st.builds(orphan),
    st.just(World.store_record),
    st.builds(clock, st.floats(0, 20)),
    st.builds(clock, st.sampled_from([-3600, -100, -9.1, -1.1, -0.9, -0.05, 3600])),
)


@settings(max_examples=500)
@given(st.lists(steps, min_size=5, max_size=40))
def test_whatever_owners_and_clocks_do_grants_rise_and_are_dated_after_every_record_before(story):
    world = World()
    for step in story:
        step(world)
