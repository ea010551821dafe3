"""A runner as the control plane knows it."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from streamward.model.camera import LeasePolicyName
from streamward.model.ids import Incarnation, RunnerId, SiteId, TenantId

DEFAULT_CAPACITY = 40  # S0-076
LONGEST_PROBLEM = 500  # characters
ENDED_ON_TRIAL = "the runner ended while it was tried"
SILENT_AFTER = 5.0  # seconds without a heartbeat until a runner no longer counts as healthy (S0-064)


class DrainMode(StrEnum):
    """What an operator asked a runner to do with its leases."""

    NONE = "none"
    SOFT = "soft"  # give them back a few at a time
    HARD = "hard"  # give all back now


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSpec:
    """What a runner says of itself when it registers a new incarnation."""

    runner_id: RunnerId
    incarnation: Incarnation
    tenant_id: TenantId | None = None  # None: serves every tenant
    site_id: SiteId | None = None  # None: serves every site
    policy: LeasePolicyName = LeasePolicyName.FAST
    capacity: int | None = None  # None: keep what an operator set, else the default


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """Which make of Workers a runner is known to work with, which it has tried last, and why it refused that one."""

    proven: int = 0  # 0: what it was started with
    tried: int = 0
    problem: str | None = None

    def refusal(self, make: int) -> str | None:
        """Why a later start of the runner does not try a make again; None: it may."""
        if self.tried != make or self.proven == make:
            return None
        return self.problem or ENDED_ON_TRIAL


AS_STARTED = Making()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerLoad:
    """What a runner reports of itself with each heartbeat (S0-025): its shards, and what its processes use."""

    shards: int = 0
    cpu_pct: float = 0.0  # of one processor
    mem_mb: float = 0.0


NO_LOAD = RunnerLoad()


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """A runner's row: who it is, what it may hold, and when it was last heard."""

    runner_id: RunnerId
    incarnation: Incarnation | None  # None: ended, nothing may be acquired until a new one registers
    tenant_id: TenantId | None
    site_id: SiteId | None
    policy: LeasePolicyName
    capacity: int
    cordoned: bool
    drain: DrainMode
    last_seen_at: datetime
    make: int = 0  # of its Workers, as operators want it: rises with each rollout
    detector: str | None = None  # of that make; None: what the runner was started with
    earlier_detector: str | None = None  # to go back to
    making: Making = AS_STARTED  # as the runner says
    answer_delay: float | None = None  # seconds, while it receives answers too late to keep a lease (its own report)
    revision: int = 0  # set by the store: rises with each change by people

    @property
    def takes_leases(self) -> bool:
        """Whether new leases may go to it."""
        return not self.cordoned and self.drain is DrainMode.NONE

    def rolled_out(self, detector: str | None) -> "Runner":
        """Workers of another make are wanted; what to go back to is what was last known to work."""
        is_settled = self.making.proven == self.make
        earlier = self.detector if is_settled else self.earlier_detector
        return replace(self, make=self.make + 1, detector=detector, earlier_detector=earlier)

    def is_healthy(self, now: datetime) -> bool:
        """Whether it has been heard lately."""
        return (now - self.last_seen_at).total_seconds() <= SILENT_AFTER
