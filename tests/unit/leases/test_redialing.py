"""How fast a Worker dials again."""

from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.redialing import Pace, Redials
from streamward.model.ids import SiteId

HERE, THERE = SiteId("site-1"), SiteId("site-2")


def granted(redials: Redials, instants: list[float], site_id: SiteId = HERE) -> list[float]:
    """Those of the dials asked for that were let go, each ending at once."""
    went: list[float] = []
    for at in instants:
        if not redials.ask(site_id, at):
            redials.done(site_id)
            went.append(at)
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


def test_a_runner_has_its_share_and_one_dial_at_least():
    assert Pace(per_minute=120, burst=10).shared(0.25) == Pace(per_minute=30, burst=2)
    assert Pace(per_minute=120, burst=10).shared(0.01).burst == 1


@given(st.lists(st.floats(0, 300), max_size=200), st.floats(1, 600), st.integers(1, 20))
def test_dials_never_exceed_burst_and_rate(instants, per_minute, burst):
    went = granted(Redials(Pace(per_minute=per_minute, burst=burst)), sorted(instants))
    for first, began in enumerate(went):
        for count, ended in enumerate(went[first:], start=1):
            assert count <= burst + per_minute / 60 * (ended - began) + 1e-6
