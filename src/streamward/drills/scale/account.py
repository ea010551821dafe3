"""What a scale drill comes to: figures, and what each is held against."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from streamward.drills.figures import Objective, Spread, seconds, spread, within
from streamward.drills.scale.layout import Layout
from streamward.drills.scale.pages import Calls
from streamward.drills.takeover.account import How, goals
from streamward.drills.takeover.parts import PARTS, Parts

OWNED_WITHIN = 60.0  # seconds after the last runner registered
SCRAPED_WITHIN = 1.0
FLAT = 1.25  # times what a runner cost for each camera when there were few: noise of the machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What went on for a while; shares are of one core."""

    cameras: int
    runners: int
    seconds: float
    load: float  # of the machine, over its last minute
    control_cpu: float
    control_mb: float
    runner_cpu: float  # of each runner that was there from the beginning, on average
    runner_cameras: float  # that those had, on average
    runner_mb: float  # counted once where processes share it
    statements: float  # a second
    calls: list[Calls]
    expired: int  # leases
    granted: int  # leases
    changed: int  # cameras with another owner at the end
    detections: float  # a second, on the bus
    statuses: float

    @property
    def calls_per_second(self) -> float:
        return sum(each.count for each in self.calls) / self.seconds

    @property
    def per_camera(self) -> float:
        """What a runner costs for each camera."""
        return self.runner_cpu / self.runner_cameras if self.runner_cameras else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How all cameras came to be watched; seconds after the last runner registered, None: they did not."""

    owned_after: float | None
    streaming_after: float | None
    shares: dict[str, int]  # cameras by runner
    grants: int  # that it took; more than there were cameras: some were given back
    calls: list[Calls]  # meanwhile


@dataclass(frozen=True, slots=True)
class Scrape:
    """All metrics of all processes, read at once."""

    seconds: float
    control_seconds: float  # of these the control plane's own page took
    bytes: int
    cameras: int  # that are told of, by control plane and Workers


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A camera's way to another runner; seconds, None: it did not come."""

    camera: str
    streaming_after: float | None
    parts: Parts


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A drill in figures."""

    layout: Layout
    ttl: float
    renew_every: float
    database: str
    bus: str
    seconds: float
    few: Window
    many: Window
    start: Start
    scrapes: list[Scrape]
    moved: list[Moved]
    objectives: list[Objective] = field(default_factory=list)

    @property
    def takeover(self) -> Spread:
        return spread([each.streaming_after for each in self.moved if each.streaming_after is not None])

    def parts(self) -> dict[str, Spread]:
        """Where the time of the takeovers went."""
        found = {part: [each.parts[part] for each in self.moved if part in each.parts] for part in PARTS}
        return {part: spread(values) for part, values in found.items() if values}


def judge(account: Account) -> list[Objective]:
    """Everything that is wanted, and whether it was so."""
    return [*_start(account), *_steady(account.many), *_kills(account), *_scrapes(account), *_growth(account)]


def _start(account: Account) -> Iterable[Objective]:
    took = account.start.owned_after
    is_met = took is not None and took <= OWNED_WITHIN
    yield Objective("until every camera is owned", seconds(took), f"≤ {seconds(OWNED_WITHIN)}", is_met)


def _steady(many: Window) -> Iterable[Objective]:
    yield Objective("leases that ran out", str(many.expired), "0", many.expired == 0)
    changes = max(many.granted, many.changed)
    yield Objective("cameras that changed owner", str(changes), "0", changes == 0)


def _kills(account: Account) -> Iterable[Objective]:
    """A maximum too: a camera whose lease nobody gave back has to wait for its end first."""
    if not account.layout.kills:
        return
    back, of = account.takeover.count, len(account.moved)
    yield Objective("cameras that stream again", f"{back} of {of}", "all", back == of > 0)
    _, p95 = goals(How.KILL, account.ttl, cameras=account.layout.cameras)
    yield Objective("until STREAMING, P95", *within(account.takeover.p95, p95))
    yield Objective("until STREAMING, longest", *within(account.takeover.longest, account.ttl + p95))


def _scrapes(account: Account) -> Iterable[Objective]:
    longest = max((each.seconds for each in account.scrapes), default=0.0)
    fewest = min((each.cameras for each in account.scrapes), default=0)
    wanted = account.layout.cameras
    yield Objective("one scrape of everything", *within(longest, SCRAPED_WITHIN))
    yield Objective("cameras in a scrape", str(fewest), str(wanted), fewest == wanted)


def _growth(account: Account) -> Iterable[Objective]:
    few, many = account.few, account.many
    grown, cost = many.cameras / few.cameras, _times(many.control_cpu, few.control_cpu)
    yield Objective(
        f"control plane's CPU for {grown:g} × the cameras", f"{cost:.1f} ×", f"≤ {grown:g} ×", cost <= grown
    )
    flat = _times(many.per_camera, few.per_camera)
    yield Objective("a runner's CPU for each camera", f"{flat:.2f} ×", f"≤ {FLAT:g} ×", flat <= FLAT)


def _times(after: float, before: float) -> float:
    return after / before if before else 0.0
