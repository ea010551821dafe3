"""What a drill in bad weather comes to: figures, and what each is held against."""

from collections import Counter
from dataclasses import dataclass, field

from streamward.drills.figures import Objective
from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent
from streamward.protocol.streams import StreamReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What everybody has to live with; seconds."""

    loss: float = 0.1  # share of packets, each way
    delay: float = 0.3  # there and back together
    stall_for: float = 2.0  # of the control plane
    stall_every: float = 10.0
    busy: int = 1  # processes that never rest


@dataclass(slots=True)
class Heard:
    """What the cameras' runners told meanwhile."""

    is_counted: bool = False
    detections: int = 0
    states: Counter[StreamState] = field(default_factory=Counter)

    def heard_detection(self, _event: DetectionEvent) -> None:
        self.detections += self.is_counted

    def heard_status(self, report: StreamReport, _now: float) -> None:
        self.states[report.state] += self.is_counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    cameras: int
    runners: int
    ttl: float
    renew_every: float
    database: str
    bus: str
    seconds: float  # of bad weather
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    trouble: Trouble
    stalls: int
    lost: int  # packets
    changes: dict[str, int]  # of hands, by camera
    runners_anew: int  # that began again meanwhile
    detections: int
    states: dict[str, int]  # reports, by what they tell
    objectives: list[Objective] = field(default_factory=list)


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    changes = sum(account.changes.values())
    return [
        Objective("cameras that changed hands", str(changes), "0", changes == 0),
        Objective("runners that began anew", str(account.runners_anew), "0", account.runners_anew == 0),
        Objective("stalls of the control plane", str(account.stalls), "≥ 1", account.stalls > 0),
        Objective("packets lost", str(account.lost), "≥ 1", account.lost > 0),
    ]
