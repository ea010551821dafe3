"""Waits for the database at start: it may come up after us."""

import asyncio

from streamward.insight.database import Insight
from streamward.leases.store import StoreUnavailable
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.runtime.service import RETRY_AFTER, Failures, TickFailed


async def opened(insight: Insight, told: asyncio.Event, *, journal: Journal, clock: Clock) -> bool:
    """Returns whether it is open; False: we were told to end before. That it is away is told once a minute."""
    failures = Failures()
    while not told.is_set():
        try:
            await insight.open()
        except StoreUnavailable as err:
            failures.count(err)
        else:
            return True
        for error, times in failures.due(clock.boot()):
            journal.record(TickFailed(service="database", error=error, times=times))
        try:
            async with asyncio.timeout(RETRY_AFTER):
                await told.wait()
        except TimeoutError:
            continue
    return False
