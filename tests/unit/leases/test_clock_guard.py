"""Who may judge expiry: a control plane that has seen the database's clock run as expected for a ttl."""

import pytest

from streamward.leases.clock_guard import BLIND, LONGEST_GAP, REMEMBERED_FOR, TOLERANCE, ClockGuard, ClockView
from tests.support.builders import START, at

TTL = 8.0


def seen(*looks: tuple[float, float]) -> ClockGuard:
    """A guard that was told these database times (seconds after the start) at these boot-times."""
    guard = ClockGuard()
    for database, boot in looks:
        guard.observe(at(database), asked=boot, answered=boot)
    return guard


def watching(guard: ClockGuard, *, database: float, boot: float, seconds: float) -> ClockGuard:
    """Goes on looking every second for so long, at a clock that runs steadily."""
    for second in range(1, int(seconds) + 1):
        guard.observe(at(database + second), asked=boot + second, answered=boot + second)
    return guard


def test_who_has_not_seen_the_database_judges_nothing():
    assert ClockGuard().view(1000.0) == BLIND
    assert not BLIND.may_judge(now=START, ttl=TTL)


@pytest.mark.parametrize(("later", "may"), [(7.9, False), (8.0, True)])
def test_after_its_start_it_judges_nothing_for_one_ttl(later, may):
    view = watching(seen((0, 100)), database=0, boot=100, seconds=7).view(100.0 + later)
    assert view.may_judge(now=at(later), ttl=TTL) is may


@pytest.mark.parametrize("off", [-TOLERANCE - 0.01, -TOLERANCE, 0, TOLERANCE, TOLERANCE + 0.01])
def test_a_statement_judges_only_if_it_runs_at_the_time_that_was_expected(off):
    view = ClockView(expected_at=at(50), steady_for=60.0)
    assert view.may_judge(now=at(50 + off), ttl=TTL) is (abs(off) <= TOLERANCE)


def test_the_expected_time_goes_on_with_boot_time():
    assert seen((0, 100)).view(102.0) == ClockView(expected_at=at(2), steady_for=2.0, floor=at(1.8))


@pytest.mark.parametrize(("told", "jumped"), [(28.9, True), (29.0, False), (30, False), (31.0, False), (31.1, True)])
def test_a_time_outside_the_tolerance_is_a_jump(told, jumped):
    assert seen((0, 100)).observe(at(told), asked=130.0, answered=130.0) is jumped


def test_a_slow_answer_is_no_jump():
    for told in (30, 39):
        assert not seen((0, 100)).observe(at(told), asked=130.0, answered=139.0)


def test_the_look_after_a_slow_answer_is_no_jump_either():
    for told in (30, 39):
        guard = seen((0, 100))
        guard.observe(at(told), asked=130.0, answered=139.0)
        assert not guard.observe(at(40), asked=140.0, answered=140.0)


@pytest.mark.parametrize("jump", [3600, -3600])
def test_a_jump_starts_the_ttl_anew_and_steady_looks_do_not(jump):
    guard = watching(seen((0, 100)), database=0, boot=100, seconds=50)
    assert guard.observe(at(51 + jump), asked=151.0, answered=151.0)
    watching(guard, database=51 + jump, boot=151, seconds=6)
    view = guard.view(158.0)
    assert (view.expected_at, view.steady_for) == (at(58 + jump), 7.0)
    assert guard.view(159.0).may_judge(now=at(59 + jump), ttl=TTL)


def test_a_suspended_control_plane_sees_no_jump_because_boot_time_goes_on():
    assert not seen((0, 100)).observe(at(36_000), asked=36_100.0, answered=36_100.0)


@pytest.mark.parametrize(("away", "steady_for"), [(LONGEST_GAP, 103.0), (LONGEST_GAP + 0.1, 0.0)])
def test_who_did_not_look_for_a_while_judges_as_if_just_started(away, steady_for):
    guard = watching(seen((0, 100)), database=0, boot=100, seconds=100)
    assert guard.view(200.0 + away).steady_for == steady_for
    assert not guard.observe(at(100 + away), asked=200.0 + away, answered=200.0 + away)
    assert guard.view(200.0 + away).steady_for == steady_for


def test_the_floor_is_what_the_clock_would_show_had_it_not_been_set_back():
    guard = watching(seen((0, 100)), database=0, boot=100, seconds=50)
    assert guard.view(150.0).floor == at(50)
    guard.observe(at(49.9), asked=150.1, answered=150.2)
    assert guard.view(150.2).floor == at(50 + 0.9 * 0.2)
    assert guard.view(160.0).floor == at(50 + 0.9 * 10)


def test_the_floor_forgets_a_reading_after_a_while_and_follows_the_clock():
    guard = watching(seen((0, 100)), database=0, boot=100, seconds=50)
    watching(guard, database=50 - 3600, boot=150, seconds=21)
    assert guard.view(171.0).floor == at(71 - 3600)
    assert ClockGuard().view(5.0).floor == BLIND.floor


def test_a_floor_without_any_recent_reading_is_none():
    assert seen((0, 100)).view(100.0 + REMEMBERED_FOR + 1).floor == BLIND.floor
