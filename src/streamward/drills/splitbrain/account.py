"""What a split-brain drill comes to: figures, and what each is held against."""

from dataclasses import dataclass, field
from enum import StrEnum

from streamward.drills.figures import Objective
from streamward.drills.takeover.account import Fenced, judge_fence


class Split(StrEnum):
    """How a runner comes to believe in cameras that are another's."""

    RENEWALS = "renewals"  # its way to the control plane is cut, cameras and bus are there
    SLEEP = "sleep"  # every process of it stands still, with events that wait for the bus, until its leases are over


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One of them, and what its old owner tried."""

    number: int
    split: Split
    victim: str
    cameras: int
    moved: int  # of them, to another runner
    late: int  # detections of the old owner from before the next grant: stored, never the present
    refused: int  # from after it

    @property
    def attempts(self) -> int:
        return self.late + self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    cameras: int
    runners: int
    ttl: float
    renew_every: float
    on_control_loss: str
    seed: int
    database: str
    bus: str
    seconds: float
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    rounds: list[Round]
    fenced: Fenced
    objectives: list[Objective] = field(default_factory=list)


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    cameras, moved = (sum(getattr(each, name) for each in account.rounds) for name in ("cameras", "moved"))
    return [
        Objective("cameras that another took", f"{moved} of {cameras}", "all", moved == cameras > 0),
        *judge_fence(account.fenced),
        *(_provoked(account, split) for split in Split if _is_telling(account, split)),
    ]


def _provoked(account: Account, split: Split) -> Objective:
    """A drill in which nobody tried anything would prove nothing."""
    attempts = sum(each.attempts for each in account.rounds if each.split is split)
    return Objective(f"attempts of old owners, {split}", str(attempts), "≥ 1", attempts > 0)


def _is_telling(account: Account, split: Split) -> bool:
    """Whether old owners had something to try: those who stop by themselves when cut off may not."""
    is_there = any(each.split is split for each in account.rounds)
    return is_there and (split is Split.SLEEP or account.on_control_loss != "stop")
