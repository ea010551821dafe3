"""When to take in nothing more for a while (S2-34): something that everybody shares is nearly used up."""

from enum import StrEnum

CRITICAL_SHARE = 0.95  # of a device's memory, or of a queue's places


class Pressure(StrEnum):
    """How much room is left."""

    NORMAL = "normal"
    CRITICAL = "critical"


def judge(used: float, whole: float, *, critical: float = CRITICAL_SHARE) -> Pressure:
    """By how much is used of the whole; of nothing, nothing is used."""
    return Pressure.CRITICAL if whole > 0 and used >= critical * whole else Pressure.NORMAL
