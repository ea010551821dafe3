"""What processes use, as the kernel tells it."""

import os
import time

from streamward.runtime.usage import Usage
from tests.support.builders import START
from tests.support.clocks import ManualClock

NOBODY = 2**22 + 1  # more than any pid


def test_a_busy_process_uses_time_and_memory_and_a_dead_one_nothing():
    clock = ManualClock(START)
    usage = Usage(clock=clock)
    assert usage.look([os.getpid(), NOBODY])[0] == 0.0
    before = time.process_time()
    while time.process_time() - before < 0.1:
        pass
    clock.advance(1.0)
    cpu_pct, mem_mb = usage.look([os.getpid(), NOBODY])
    assert cpu_pct >= 5.0
    assert mem_mb > 10
