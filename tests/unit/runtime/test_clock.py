"""The machine's clocks."""

from datetime import UTC

from streamward.runtime.clock import SystemClock


def test_wall_time_is_in_utc_and_boot_time_goes_forwards():
    clock = SystemClock()
    assert clock.wall().tzinfo is UTC
    assert clock.boot() <= clock.boot()
