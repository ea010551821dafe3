"""What a drill of replaced Workers comes to: figures, and what each is held against."""

from dataclasses import dataclass, field
from enum import StrEnum

from streamward.drills.bluegreen.handovers import Handover
from streamward.drills.figures import Objective


class Change(StrEnum):
    """What is done to a runner."""

    REPLACE = "replace"  # its Workers, by others
    KILL = "kill"  # the same, with the old Worker killed on the way
    DRAIN = "drain"  # softly: its cameras go to other runners


MOST_INTERVALS = 2  # between two pictures that are looked at, at a handover
BETWEEN_LEASES = 5  # pictures, 0.2 s: one lets go, and the other takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """All cameras of one runner, once."""

    number: int
    runner: str
    took: float | None  # seconds; None: it was not done
    change: Change
    dials: int  # connections that the recorder counted
    handovers: list[Handover]

    @property
    def longest(self) -> int:
        """Pictures between the Workers, at worst."""
        return max((each.pictures for each in self.handovers), default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    cameras: int
    runners: int
    database: str
    bus: str
    seconds: float
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    interval: int  # pictures between two that are looked at
    unread: int
    replacements: list[Replacement]
    objectives: list[Objective] = field(default_factory=list)


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so; a killed Worker's pictures are told, not judged.

    Nothing dates a picture between the last moment of one runner's lease and the first of another's.
    """
    done = sum(each.took is not None for each in account.replacements)
    peaceful = [each for each in account.replacements if each.change is not Change.KILL]
    longest = max((each.longest for each in peaceful if each.change is Change.REPLACE), default=0)
    drained = max((each.longest for each in peaceful if each.change is Change.DRAIN), default=0)
    most = MOST_INTERVALS * account.interval
    doubled = sum(each.doubled for one in account.replacements for each in one.handovers)
    moved = sum(len(each.handovers) for each in peaceful)
    again = sum(each.dials for each in peaceful)
    return [
        Objective("pictures between two Workers, at most", str(longest), f"≤ {most}", longest <= most),
        Objective(
            "pictures between two runners, at most",
            str(drained),
            f"≤ {most + BETWEEN_LEASES}",
            drained <= most + BETWEEN_LEASES,
        ),
        Objective("pictures that both looked at", str(doubled), "0", doubled == 0),
        Objective(
            "connections for each handover", f"{again} for {moved}", "one each", again == moved > 0 or not peaceful
        ),
        Objective(
            "replacements that were done",
            f"{done} of {len(account.replacements)}",
            "all",
            done == len(account.replacements) > 0,
        ),
    ]
