"""How long cameras were not looked at, read from their events."""

import time
from collections.abc import Iterable
from itertools import pairwise

from tests.support.ledgers import Ledger


def seconds_now() -> float:
    """Since 1970, as events tell it on one host."""
    return time.time()


def gaps_of(ledger: Ledger, cameras: Iterable[str], *, since: float = 0.0, until: float) -> dict[str, list[float]]:
    """Seconds between each two frames of a camera that were looked at one after the other."""
    found: dict[str, list[float]] = {}
    for camera in cameras:
        at = sorted(event.ts.timestamp() for event in ledger.unique.values() if event.camera_uuid == camera)
        found[camera] = [later - earlier for earlier, later in pairwise(at) if since < later and earlier < until]
    return found
