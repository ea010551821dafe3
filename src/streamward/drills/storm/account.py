"""What a dial storm comes to: dials as the recorder saw them, against what the site's budget allows.

A dial is seen at the recorder after it was allowed, so by any moment there were no more of them than the burst and the
rate since the beginning allow. In smaller windows they may bunch: a busy process is late with one, and not with the
next.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from streamward.drills.figures import Objective, Spread, seconds, spread, within
from streamward.leases.redialing import Pace
from streamward.model.status import StreamState
from streamward.nvr.tally import Count, Deed
from streamward.protocol.events import DetectionEvent
from streamward.protocol.streams import StreamReport

OFF_BY = 5.0  # seconds from what the budget allows
BACK_WITHIN = 60.0  # seconds after the recorder is back
_ENDS = (Deed.SESSION_OPENED, Deed.SESSION_REFUSED)


class Cause(StrEnum):
    """Why everybody dials."""

    ADDED = "added"  # the cameras are new
    REBOOT = "reboot"  # the recorder was away


@dataclass(frozen=True, slots=True)
class Dial:
    """One connection for a camera; seconds since the beginning."""

    camera: str
    at: float
    ended: float | None  # it has a session, or there was no room; None: it came to nothing


@dataclass(slots=True)
class Heard:
    """When each camera was told to stream, after it was told not to; instants are boot-time."""

    streaming: dict[str, float] = field(default_factory=dict)

    def heard_detection(self, _event: DetectionEvent) -> None: ...

    def heard_status(self, report: StreamReport, now: float) -> None:
        if report.state is StreamState.STREAMING:
            self.streaming.setdefault(report.camera_uuid, now)
        else:
            self.streaming.pop(report.camera_uuid, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    cause: Cause
    cameras: int
    runners: int
    capacity: int
    per_minute: float
    answers_after: float  # seconds that the recorder takes for each answer
    down_for: float  # seconds that it was away
    seconds: float
    load: tuple[float, float]  # of the machine, over a minute, at the start and at the end
    shares: dict[str, int]  # cameras by runner
    dials: int
    most_at_once: int
    ahead: float  # dials beyond what the budget allows, at the worst moment
    took: dict[str, float | None]  # until each camera streamed
    foreseen: float | None  # until all do, by the budget
    objectives: list[Objective] = field(default_factory=list)

    @property
    def until_streaming(self) -> Spread:
        return spread([each for each in self.took.values() if each is not None])


def dials_in(counts: Iterable[Count], *, since: float) -> list[Dial]:
    """The dials since a moment, as the recorder tells them; its times are seconds since 1970."""
    dialed: dict[str, list[float]] = {}
    ended: dict[str, list[float]] = {}
    for count in counts:
        found = {Deed.DIALED: dialed, **dict.fromkeys(_ENDS, ended)}.get(count.deed)
        if found is not None and count.camera is not None:
            found.setdefault(count.camera, []).extend(at - since for at in count.times if at >= since)
    every = [
        Dial(camera, at, min((end for end in ended.get(camera, ()) if end >= at), default=None))
        for camera, times in dialed.items()
        for at in times
    ]
    return sorted(every, key=lambda dial: dial.at)


def firsts(dials: Iterable[Dial]) -> list[Dial]:
    """The first dial of each camera: those cost tokens; what follows a failure is limited by itself."""
    found: dict[str, Dial] = {}
    for dial in dials:
        found.setdefault(dial.camera, dial)
    return list(found.values())


def most_at_once(dials: Iterable[Dial]) -> int:
    """How many were under way at the worst moment; one that came to nothing is over at once."""
    moves: Counter[tuple[float, int]] = Counter()
    for dial in dials:
        moves[dial.at, 1] += 1
        moves[dial.at if dial.ended is None else dial.ended, -1] += 1
    now = most = 0
    for (_, step), times in sorted(moves.items()):  # who ends at a moment makes room for who comes then
        now += step * times
        most = max(most, now)
    return most


def ahead(dials: Sequence[Dial], pace: Pace) -> float:
    """How many dials too many there were at the worst moment, of those that the pace allows since the beginning."""
    counted = enumerate(dials, start=1)
    return max((count - pace.burst - dial.at * pace.per_minute / 60.0 for count, dial in counted), default=0.0)


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    stream = sum(each is not None for each in account.took.values())
    once, beyond = account.most_at_once, max(0.0, account.ahead)
    return [
        Objective("dials under way at once", str(once), f"≤ {account.capacity}", once <= account.capacity),
        Objective("dials ahead of the budget", f"{beyond:.1f}", "0", beyond == 0),
        Objective("cameras that stream", f"{stream} of {account.cameras}", "all", stream == account.cameras > 0),
        *_of_time(account),
    ]


def _of_time(account: Account) -> list[Objective]:
    last = account.until_streaming.longest
    if account.cause is Cause.REBOOT:
        return [Objective("all back after the recorder is", *within(last, BACK_WITHIN))]
    if account.foreseen is None:
        return [Objective("all stream", seconds(last), "never, by the budget", is_met=False)]
    goal = f"{seconds(account.foreseen)} ± {seconds(OFF_BY)}"
    return [Objective("all stream as the budget allows", seconds(last), goal, abs(last - account.foreseen) <= OFF_BY)]
