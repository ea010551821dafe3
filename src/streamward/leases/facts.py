"""What happens to leases, as facts in the past tense: log line, metric, feed and test read the same ones."""

from dataclasses import dataclass
from typing import ClassVar

from streamward.leases.dialing import DialRefusal
from streamward.leases.lease import DenialReason
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGranted:
    """A camera got a new owner, in a new generation."""

    camera_id: CameraId
    runner_id: RunnerId
    incarnation: Incarnation
    generation: Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseDenied:
    """A runner asked for a camera and did not get it."""

    camera_id: CameraId | None
    runner_id: RunnerId
    reason: DenialReason


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesLost:
    """A runner's renewal named leases that were no longer its own; one fact for all, for they may be thousands."""

    runner_id: RunnerId
    count: int
    cameras: tuple[CameraId, ...]  # the first few


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseReleased:
    """An owner gave a camera back."""

    camera_id: CameraId
    runner_id: RunnerId


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseOrphaned:
    """A lease ran out."""

    camera_id: CameraId


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseReclaimed:
    """An expired lease was taken from its owner inside (soft) or after (hard) its soft window."""

    camera_id: CameraId
    generation: Generation
    hard: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveStarted:
    """A camera was given a successor runner, to balance the fleet; it moves when that one has frames."""

    camera_id: CameraId
    runner_id: RunnerId
    successor_id: RunnerId
    generation: Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerRegistered:
    """A runner's process started, and ended every earlier incarnation."""

    runner_id: RunnerId
    incarnation: Incarnation


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerHeard:
    """A runner's heartbeat came on the bus."""

    runner_id: RunnerId


@dataclass(frozen=True, slots=True, kw_only=True)
class IncarnationEnded:
    """A runner gave everything back for good."""

    runner_id: RunnerId
    incarnation: Incarnation
    released: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseClockJumped:
    """The database's clock was set; nothing is judged expired for one ttl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DialAllowed:
    """A first connection may go."""

    site_id: SiteId
    camera_id: CameraId | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DialDelayed:
    """A first connection has to wait."""

    site_id: SiteId
    camera_id: CameraId | None
    reason: DialRefusal


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialLocked:
    """A camera's credential cannot be opened: its key is missing, or it is another camera's."""

    is_warning: ClassVar[bool] = True

    camera_id: CameraId
    key_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginParked:
    """A camera's login was refused so often that nobody tries it for a while."""

    camera_id: CameraId
    runner_id: RunnerId


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRetried:
    """An operator allowed one more try of a parked login."""

    camera_id: CameraId
