"""What a blackout comes to: figures, and what each is held against."""

from dataclasses import dataclass, field

from streamward.drills.figures import Objective, Spread, spread, within
from streamward.drills.takeover.account import Fenced, judge_fence
from streamward.leases.policy import trusted_for

STEADY_WITHIN = 5.0  # seconds after the control plane serves again
STOP = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """When a camera was found to be well again, in seconds after the control plane served; None: it never was."""

    leased: float | None  # its lease lasts again
    streaming: float | None  # the last that is told of it, here and by the control plane
    detected: float | None  # a picture from after the return was looked at

    @property
    def after(self) -> float | None:
        parts = [each for each in (self.leased, self.streaming, self.detected) if each is not None]
        return max(parts) if len(parts) == 3 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """What one camera went through."""

    camera: str
    made: int  # detections that are dated in the blackout
    last: float | None  # when the last of them is dated, in seconds after the kill
    gap: float  # the longest time without a detection, in seconds
    is_moved: bool  # another lease than before
    back: Back


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What must not be; detections are told by the numbers of each Worker, and whoever replaces one begins anew."""

    workers_ended: int
    detections_lost: int
    detections_doubled: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """What the fence said afterwards of the detections that came while nobody could judge them."""

    live: int
    late: int
    refused: int

    @property
    def came(self) -> int:
        return self.live + self.late + self.refused


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    cameras: int
    runners: int
    ttl: float
    renew_every: float
    on_control_loss: str
    database: str
    bus: str
    away_for: float  # seconds from the kill to the start of the next control plane
    served_after: float  # seconds from there until it served
    seconds: float
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    each: list[Camera]
    sessions_until: float  # when the recorder was last seen to have a session, in seconds after the kill
    losses: Losses
    later: Later
    fenced: Fenced
    objectives: list[Objective] = field(default_factory=list)

    @property
    def moved(self) -> int:
        return sum(each.is_moved for each in self.each)

    @property
    def went_on(self) -> int:
        """Cameras that were never without a detection for as long as a lease lasts."""
        return sum(each.gap < self.ttl for each in self.each)

    def spreads(self) -> dict[str, Spread]:
        """Every time that was measured, by its name, over all cameras."""
        backs = [each.back for each in self.each]
        found: dict[str, list[float | None]] = {
            "last detection dated after the kill": [each.last for each in self.each],
            "longest without a detection": [*(each.gap for each in self.each)],
            "lease renewed after the return": [each.leased for each in backs],
            "told to stream after the return": [each.streaming for each in backs],
            "seen after the return": [each.detected for each in backs],
            "all of these": [each.after for each in backs],
        }
        return {name: spread([each for each in values if each is not None]) for name, values in found.items()}


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    meanwhile = _stopped(account) if account.on_control_loss == STOP else [_went_on(account)]
    losses = account.losses
    counted = {
        "Workers that ended": losses.workers_ended,
        "detections lost": losses.detections_lost,
        "detections doubled": losses.detections_doubled,
    }
    return [
        *meanwhile,
        *_returned(account),
        *(Objective(name, str(count), "0", count == 0) for name, count in counted.items()),
        *([] if account.moved else [_accepted(account)]),
        *judge_fence(account.fenced),
    ]


def _stopped(account: Account) -> list[Objective]:
    """Trust ends before the lease does, and with the lease the last connection."""
    last = max((each.last for each in account.each if each.last is not None), default=0.0)
    return [
        Objective("last detection dated after the kill", *within(last, trusted_for(account.ttl))),
        Objective("last camera session after the kill", *within(account.sessions_until, account.ttl)),
    ]


def _went_on(account: Account) -> Objective:
    told = f"{account.went_on} of {account.cameras}"
    return Objective("cameras that went on", told, "all", account.went_on == account.cameras)


def _returned(account: Account) -> list[Objective]:
    times = [after for each in account.each if (after := each.back.after) is not None]
    told, is_all = f"{len(times)} of {account.cameras}", len(times) == account.cameras
    return [
        Objective("cameras that are back", told, "all", is_all),
        Objective("steady after the return", *within(max(times, default=0.0), STEADY_WITHIN)),
    ]


def _accepted(account: Account) -> Objective:
    """Nobody else took a camera, so nothing that was made meanwhile is another's."""
    later = account.later
    accepted = later.live + later.late
    return Objective("made meanwhile and accepted", f"{accepted} of {later.came}", "all", accepted == later.came > 0)
