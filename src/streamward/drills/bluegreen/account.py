"""What a drill of replaced Workers comes to: figures, and what each is held against."""

from dataclasses import dataclass, field

from streamward.drills.bluegreen.handovers import Handover
from streamward.drills.figures import Objective

MOST_INTERVALS = 2  # between two pictures that are looked at, at a handover


@dataclass(frozen=True, slots=True, kw_only=True)
class Replacement:
    """All Workers of one runner, once."""

    number: int
    runner: str
    took: float | None  # seconds; None: it was not done
    is_old_killed: bool
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
    """Everything that is wanted, and whether it was so; a killed Worker's pictures are told, not judged."""
    done = sum(each.took is not None for each in account.replacements)
    peaceful = [each for each in account.replacements if not each.is_old_killed]
    longest = max((each.longest for each in peaceful), default=0)
    most = MOST_INTERVALS * account.interval
    doubled = sum(each.doubled for one in account.replacements for each in one.handovers)
    moved = sum(len(each.handovers) for each in peaceful)
    again = sum(each.dials for each in peaceful)
    return [
        Objective("pictures between two Workers, at most", str(longest), f"≤ {most}", longest <= most),
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
