"""What a Manager is put together from, and how much it has."""

from dataclasses import dataclass
from random import Random

from streamward.leases.holder import Holder
from streamward.leases.sharding import DEFAULT_TARGET
from streamward.protocol.shards import ShardConfig
from streamward.runner.crew import Spawning
from streamward.runner.known import KnownCameras
from streamward.runner.own_leases import Control
from streamward.runner.stream_end import StreamEndPublisher
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerSpec:
    """How a Manager works."""

    template: ShardConfig  # what all its shards have in common; shard, tenant and cameras are filled in
    target: int = DEFAULT_TARGET
    continues_fenced: bool = False  # while the control plane is away: goes on, and the fence decides later


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerParts:
    """What it is put together from."""

    holder: Holder
    control: Control
    known: KnownCameras
    spawner: Spawning
    clock: Clock
    journal: Journal
    log: int  # descriptor that Workers write their lines to
    random: Random  # for jitter
    ends: StreamEndPublisher


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much a Manager has."""

    desired: int  # leases, also those that it dares not trust just now
    owned: int
    running: int
    shards: int
    workers: int
    is_draining: bool  # cameras are still to be given back

    @property
    def pending(self) -> int:
        """Cameras that should run here and do not."""
        return max(0, self.desired - self.running)
