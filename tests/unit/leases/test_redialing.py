"""How fast a Worker dials again."""

from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.redialing import Pace, Redials
from streamward.model.ids import SiteId

HERE, THERE = SiteId("site-1"), SiteId("site-2")
NEAR = 1e-6


def granted(redials: Redials, instants: list[float], site_id: SiteId = HERE) -> list[float]:
    """Those of the dials asked for that were let go, each ending at once."""
    went: list[float] = []
    for at in instants:
        if not redials.ask(site_id, at):
            redials.done(site_id)
            went.append(at)
    return went


def insisting(redials: Redials, dials: int, *, late: float = 1.0) -> list[float]:
    """When so many dials go, one after the other, each asking again a little later than it was told."""
    went, now = [], 0.0
    for _ in range(dials):
        rest = redials.ask(HERE, now)
        while rest:
            now += rest * late + NEAR
            rest = redials.ask(HERE, now, again=True)
        redials.done(HERE)
        went.append(now)
    return went


def test_a_burst_goes_at_once_and_the_rest_at_the_rate():
    redials = Redials(Pace(per_minute=120, burst=10))
    assert len(granted(redials, [0.0] * 30)) == 10
    assert redials.ask(HERE, 0.0) == 0.5
    assert len(granted(redials, [5.0] * 30)) == 10
    assert len(granted(redials, [6.0] * 30)) == 2


def test_sites_do_not_wait_for_each_other():
    redials = Redials()
    granted(redials, [0.0] * 30)
    assert redials.ask(THERE, 0.0) == 0.0


def test_no_more_are_under_way_than_a_burst():
    redials = Redials(Pace(per_minute=6000, burst=2))
    assert [redials.ask(HERE, 0.0), redials.ask(HERE, 0.0)] == [0.0, 0.0]
    assert redials.ask(HERE, 60.0) > 0
    redials.done(HERE)
    assert redials.ask(HERE, 60.0) == 0.0


def test_a_share_is_one_of_rate_and_burst():
    assert Pace(per_minute=120, burst=10).shared(0.25) == Pace(per_minute=30, burst=2.5)
    assert [Pace(burst=burst).at_once for burst in (0.1, 2.5, 10)] == [1, 2, 10]


def test_with_less_than_a_dial_to_spend_even_the_first_one_waits():
    redials = Redials(Pace(per_minute=60, burst=0.75))
    assert redials.ask(HERE, 100.0) == 0.25
    assert redials.ask(HERE, 100.25, again=True) == 0.0
    redials.done(HERE)
    assert redials.ask(HERE, 500.0) == 0.25


def test_who_is_late_to_ask_again_loses_nothing():
    assert insisting(Redials(Pace(per_minute=60, burst=0.5)), 40, late=1.25)[-1] < 40 + 1


def test_a_pace_that_is_told_counts_from_then_on():
    redials = Redials(Pace(per_minute=120, burst=10))
    redials.set(HERE, Pace(per_minute=60, burst=2), 0.0)
    assert len(granted(redials, [0.0] * 30)) == 2
    redials.set(HERE, Pace(per_minute=6000, burst=5), 1.0)
    assert len(granted(redials, [1.0] * 30)) == 1
    assert len(granted(redials, [9.0] * 30)) == 5
    assert len(granted(redials, [9.0] * 30, THERE)) == 10


@given(st.lists(st.floats(0, 300), max_size=200), st.floats(1, 600), st.floats(0.05, 20))
def test_dials_never_exceed_burst_and_rate(instants, per_minute, burst):
    went = granted(Redials(Pace(per_minute=per_minute, burst=burst)), sorted(instants))
    for first, began in enumerate(went):
        for count, ended in enumerate(went[first:], start=1):
            assert count <= burst + per_minute / 60 * (ended - began) + NEAR


@given(st.lists(st.integers(1, 12), min_size=1, max_size=20), st.floats(6, 600), st.floats(1, 1.25))
def test_shares_together_keep_to_the_burst_and_the_rate_of_their_site(cameras, per_minute, late):
    whole = Pace(per_minute=per_minute, burst=10)
    shares = [(each, whole.shared(each / sum(cameras))) for each in cameras]
    went = sorted(at for each, pace in shares for at in insisting(Redials(pace), each, late=late))
    for count, at in enumerate(went, start=1):
        assert count <= 10 + per_minute / 60 * at + NEAR
