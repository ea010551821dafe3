"""What a drill of kills comes to: figures, and what each is held against."""

from dataclasses import dataclass, field
from enum import StrEnum

from streamward.drills.figures import Objective, Spread, spread, within

GONE_WITHIN = 2.0  # seconds


class Part(StrEnum):
    """A process of a runner, from the top of its tree."""

    PARENT = "parent"
    MANAGER = "Manager"
    FORK_SERVER = "fork server"
    WORKER = "Worker"


class Left(StrEnum):
    """What a process that was killed may leave behind."""

    PROCESSES = "processes"  # it, what must not outlive it, and orphans; also dead ones that nobody took in
    PORTS = "listening ports"
    SESSIONS = "camera sessions"  # as the recorder counts them


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """One, and how long each thing stayed; seconds, None: it was still there when nobody waited any more."""

    number: int
    part: Part
    runner: str
    was_steady: bool  # else it was just starting
    had: dict[Left, int]
    gone_after: dict[Left, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    cameras: int
    runners: int
    seed: int
    database: str
    bus: str
    seconds: float
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    kills: list[Kill]
    objectives: list[Objective] = field(default_factory=list)

    def spreads(self) -> dict[tuple[Part, Left], Spread]:
        """How long what was there stayed."""
        return {(part, left): spread(_known(self.kills, left, part)) for part in Part for left in Left}


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    return [_gone(account.kills, left) for left in Left]


def _gone(kills: list[Kill], left: Left) -> Objective:
    had = sum(each.had[left] for each in kills)
    stayed = sum(each.gone_after[left] is None for each in kills)
    measured, goal, is_met = within(max(_known(kills, left), default=0.0), GONE_WITHIN)
    told = f"{measured}, {stayed} stayed" if stayed else measured
    return Objective(f"{left} gone ({had}), longest", told, goal, is_met and not stayed and had > 0)


def _known(kills: list[Kill], left: Left, part: Part | None = None) -> list[float]:
    return [
        after
        for each in kills
        if part in {None, each.part} and each.had[left] and (after := each.gone_after[left]) is not None
    ]
