"""A fixed rate: periods do not add up what ticks take."""

from streamward.runtime.cadence import Cadence
from tests.support.builders import START
from tests.support.clocks import ManualClock


def test_what_a_tick_takes_does_not_delay_the_next():
    clock = ManualClock(START)
    cadence = Cadence(1.0, clock=clock)
    for _ in range(10):
        clock.advance(0.25)
        rest = cadence.rest()
        assert abs(rest - 0.75) < 1e-6
        clock.advance(rest)


def test_what_was_missed_is_not_made_up_for():
    clock = ManualClock(START)
    cadence = Cadence(1.0, clock=clock)
    clock.advance(7.5)
    assert cadence.rest() == 1.0
    clock.advance(1.0)
    assert cadence.rest() == 1.0
