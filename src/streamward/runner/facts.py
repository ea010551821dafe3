"""What happens in a Worker, as facts: each becomes a log line (S0-075)."""

from dataclasses import dataclass
from typing import ClassVar

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamBegan:
    """The first frame of a camera since it was added, so long after that."""

    camera_id: CameraId
    site_id: str
    tenant_id: str
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RtspConnectRetry:
    """A camera's stream failed, and is dialed again after so long (S0-075)."""

    is_warning: ClassVar[bool] = True

    camera_id: CameraId
    site_id: str
    tenant_id: str
    error_code: str
    detail: str
    retry_in_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamError:
    """Something is wrong with a camera's stream, and nothing is dialed again for it: it goes on, or cannot begin."""

    is_warning: ClassVar[bool] = True

    camera_id: CameraId
    site_id: str
    tenant_id: str
    error_code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamEnded:
    """A camera is watched no more."""

    camera_id: CameraId
    site_id: str
    tenant_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFilterSkipped:
    """This Worker decodes pictures less exactly, because it is told to."""

    pictures: str
    detail: str = "pictures are less exact: docs/measured.md says by how much, docs/worker.md what for"


@dataclass(frozen=True, slots=True, kw_only=True)
class HardwareNotUsed:
    """A device that was to decode cannot, or a decoder on it failed: the processor decodes, and cameras go on."""

    error: StreamwardError


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSwapped:
    """Another version of a model looks at its cameras, from one frame to the next."""

    detector: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNotSwapped:
    """Another version of a model is of no use, and the one before goes on."""

    detector: str
    error: StreamwardError


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectorGivenUp:
    """A Worker ends because a detector does not come back; a camera that is to blame gets one of its own."""

    camera_id: CameraId
    is_to_blame: bool
    error: StreamwardError


@dataclass(frozen=True, slots=True, kw_only=True)
class ClipsNotKept:
    """The last seconds of cameras cannot be kept, or not all of them; told once."""

    error: StreamwardError


@dataclass(frozen=True, slots=True, kw_only=True)
class EventNotKept:
    """An event is so large that neither bus nor store takes it: it is lost, and counted."""

    error: StreamwardError


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersTooLate:
    """Answers to renewals come too late to keep a lease: what was held is released, and nothing is claimed."""

    is_warning: ClassVar[bool] = True

    delay_ms: int
    released: int  # leases


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersInTime:
    """Answers to renewals come in time again: cameras are claimed as before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseDenied:
    """A Worker without a Manager does not get the lease of a camera, and asks again; recorded once for each reason."""

    is_warning: ClassVar[bool] = True

    camera_id: CameraId
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasesRenewed:
    """The control plane answered a renewal, so long after it was asked."""

    duration_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareStarted:
    """A Worker without a shard was started, which took so long: the next shard gets it."""

    pid: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSpawn:
    """A Worker got a shard of so many cameras (S0-075); its process took so long to start, 0 if it was the spare."""

    shard_id: str
    tenant_id: str
    cameras: int
    pid: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBegan:
    """A Worker has taken a shard, and serves on that port."""

    shard_id: str
    pid: int
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerNotSpawned:
    """A Worker could not be started; it is tried again."""

    shard_id: str
    error: StreamwardError


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerExited:
    """A Worker ended, by its own code or by a signal."""

    shard_id: str
    pid: int
    code: int | None
    signal: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerStuck:
    """A Worker said nothing for too long, and was killed."""

    worker: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamShown:
    """The first frame of a camera in a Worker, under that generation."""

    camera_id: CameraId
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BluegreenCutover:
    """The events of a camera come from another Worker (S0-075), so long after that one began with it.

    `old` and `new` are their shards; `old` is null if another runner had the camera before. Without `has_shown` the new
    one has no frame of it yet.
    """

    camera_id: CameraId
    shard_id: str
    old: str | None
    new: str
    has_shown: bool
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerServes:
    """A runner's metrics are on the first of these ports, and its Workers' on the second."""

    own_port: int
    workers_port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DialTokenTaken:
    """A camera's first dial under that generation is paid for, so long after it was first asked for."""

    camera_id: CameraId
    site_id: str
    version: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestreamerStarted:
    """A runner's go2rtc serves, so long after it was started."""

    pid: int
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RestreamerExited:
    """A runner's go2rtc ended by itself after so long, and is started again."""

    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerConnected:
    """A runner's go2rtc is connected to a camera, at the address that it was told (S0-105)."""

    camera_id: CameraId


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerLost:
    """A camera hung up on a runner's go2rtc; its Worker lets go, and dials it when it is its turn."""

    camera_id: CameraId


@dataclass(frozen=True, slots=True, kw_only=True)
class RestreamAstray:
    """A camera sent go2rtc somewhere else; it is read by its Worker from now on, who does not follow."""

    camera_id: CameraId


@dataclass(frozen=True, slots=True, kw_only=True)
class RestreamLeftOut:
    """A camera is read by its Worker, though the others are read through go2rtc."""

    camera_id: CameraId
