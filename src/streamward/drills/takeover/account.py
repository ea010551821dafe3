"""What a takeover drill comes to: figures, and what each is held against."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from streamward.drills.figures import Objective, Spread, spread, within
from streamward.drills.takeover.parts import PARTS, Parts


class How(StrEnum):
    """What is done to a runner."""

    KILL = "kill"  # SIGKILL to its Manager
    FREEZE = "freeze"  # SIGSTOP to every process of it, for longer than its leases last
    CUT = "cut"  # its network namespace is cut off, for as long
    DRAIN = "drain"  # told to give everything back at once
    SOFT = "soft"  # told to give it back a few at a time


# How long a takeover may take at P50 and P95: after a death, and beyond the time that a lease lasts.
DEATH = (0.4, 1.0)
BEYOND_TTL = (1.0, 2.0)
SHORT_TTL = 5.0  # seconds; at such a ttl the objective has a second more for P95, and none for P50
BEYOND_SHORT_TTL = (None, 3.0)
FASTER_TTL = 3.0  # seconds, of the policy `faster`
BEYOND_FASTER_TTL = (None, 1.0)
GAP_OF_DRAIN = 3.0
MANY, OF_MANY = 40, 12.0  # so many cameras of one site at once have that long at P95, whatever was done to their runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """One camera's way from one runner to another; seconds, None: it did not come."""

    camera: str
    generation: int  # that it had
    streaming_after: float | None
    detected_after: float | None
    gap: float | None  # between the last detection here and the first there
    dated_ahead: float | None  # the new grant: its dead owner may have dated ahead by as much
    parts: Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Takeover:
    """One blow, and what became of each camera."""

    number: int
    how: How
    victim: str
    load: float  # of the machine, over a minute
    moved: list[Moved]

    @property
    def streaming(self) -> Spread:
        return spread(_known(each.streaming_after for each in self.moved))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fenced:
    """What the fence did."""

    live: int
    late: int
    refused: int
    repeated: int
    stale: int  # accepted as live though made after the next grant
    shared: int  # generations of a camera whose accepted detections share a moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    how: How
    cameras: int
    runners: int
    ttl: float
    renew_every: float
    key_every: int | None  # seconds between keyframes of which a new client waits for the next; None: gets the latest
    seed: int
    database: str
    bus: str
    seconds: float
    takeovers: list[Takeover]
    fenced: Fenced
    objectives: list[Objective] = field(default_factory=list)

    @property
    def moved(self) -> list[Moved]:
        return [each for takeover in self.takeovers for each in takeover.moved]

    def spreads(self) -> dict[str, Spread]:
        """Every time that was measured, by its name, over all blows and cameras."""
        return {
            "until STREAMING": spread(_known(each.streaming_after for each in self.moved)),
            "until the first detection": spread(_known(each.detected_after for each in self.moved)),
            "between two detections": spread(_known(each.gap for each in self.moved)),
            "grant dated ahead": spread(_known(each.dated_ahead for each in self.moved)),
        }

    def parts(self) -> dict[str, Spread]:
        """Where the time went."""
        found = {part: [each.parts[part] for each in self.moved if part in each.parts] for part in PARTS}
        return {part: spread(values) for part, values in found.items() if values}


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    back = sum(each.streaming_after is not None for each in account.moved)
    all_back = Objective(
        "cameras that stream again",
        f"{back} of {len(account.moved)}",
        "all",
        back == len(account.moved) > 0,
    )
    return [*_of_times(account), all_back, *judge_fence(account.fenced)]


def _of_times(account: Account) -> list[Objective]:
    spreads = account.spreads()
    until, gap = spreads["until STREAMING"], spreads["between two detections"]
    if account.how in {How.DRAIN, How.SOFT}:
        return [Objective("between two detections, P95", *within(gap.p95, GAP_OF_DRAIN))]
    if account.key_every is not None:  # who dials waits for a keyframe, which is the camera's time
        return []  # told without an objective
    p50, p95 = goals(account.how, account.ttl, cameras=account.cameras)
    judged = [] if p50 is None else [Objective("until STREAMING, P50", *within(until.p50, p50))]
    return [*judged, Objective("until STREAMING, P95", *within(until.p95, p95))]


def goals(how: How, ttl: float, *, cameras: int) -> tuple[float | None, float]:
    """Seconds at P50 and P95; the leases of a runner that is frozen or cut off have to run out first."""
    if cameras >= MANY:
        return None, OF_MANY
    if how is How.KILL:
        return DEATH
    if ttl <= FASTER_TTL:
        p50, p95 = BEYOND_FASTER_TTL
    else:
        p50, p95 = BEYOND_SHORT_TTL if ttl <= SHORT_TTL else BEYOND_TTL
    return (None if p50 is None else ttl + p50), ttl + p95


def judge_fence(fenced: Fenced) -> list[Objective]:
    """What must never happen."""
    counted = {
        "stale detections taken for live": fenced.stale,
        "generations that share a moment": fenced.shared,
    }
    return [Objective(name, str(count), "0", count == 0) for name, count in counted.items()]


def _known(values: Iterable[float | None]) -> Sequence[float]:
    return [each for each in values if each is not None]
