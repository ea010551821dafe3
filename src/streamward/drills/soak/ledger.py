"""What was heard of the Worker in a soak: every message with when it came, and whom a fault troubles.

    set ─→ troubled ──cleared, and it streams──→ quiet for a while ─→ well

What is told of a camera between a fault and its wellness is that fault's notice; what is told of a camera that is well
is a disturbance, and there should be none. Gaps and latencies of the whole way are those of cameras that are well.
Instants are boot-time unless they are called wall.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streamward.drills.soak import marked
from streamward.drills.soak.plan import Trial
from streamward.model.status import StreamState
from streamward.protocol.events import DetectionEvent, StreamFailed
from streamward.protocol.streams import StreamReport

QUIET_FOR = 3.0  # seconds of streaming after which a camera is well again
_KEPT = 8  # times that a loop frame was sent


@dataclass(slots=True)
class Trouble:
    """One fault, and what was told of it."""

    name: str
    cameras: tuple[str, ...]
    set_at: float
    trial: Trial | None = None  # None: the start
    cleared_at: float | None = None
    noticed_at: dict[str, float] = field(default_factory=dict)
    streaming_at: dict[str, float] = field(default_factory=dict)  # after it was cleared, if it had not been then
    codes: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Gaps:
    """Time between two frames of a camera that were looked at."""

    count: int = 0
    over: int = 0  # above what is wanted
    longest: float = 0.0

    def add(self, gap: float, *, wanted: float) -> None:
        self.count += 1
        self.over += gap > wanted
        self.longest = max(self.longest, gap)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What the Worker's process takes up."""

    at: float
    rss: int  # bytes
    files: int
    threads: int


@dataclass(frozen=True, slots=True)
class _Pending:
    """An event whose picture's send time is not known yet."""

    mark: tuple[int, int]  # scene, loop frame
    looked_wall: float
    came_wall: float


@dataclass(slots=True)
class _Camera:
    """One camera, as it is known here."""

    trouble: Trouble | None
    is_streaming: bool = False
    well_at: float = 0.0  # when it streams and its fault is over
    looked_at: float | None = None  # the latest frame while it was well
    told_at: float | None = None  # its latest status
    sent: dict[tuple[int, int], deque[float]] = field(default_factory=dict)
    sent_until: float = 0.0
    pending: deque[_Pending] = field(default_factory=deque)

    def is_well(self, now: float) -> bool:
        is_over = self.trouble is None or self.trouble.cleared_at is not None
        return is_over and self.is_streaming and now >= self.well_at


@dataclass(slots=True, kw_only=True)
class Ledger:
    """Everything that was heard."""

    runner_id: str
    max_fps: float
    troubles: list[Trouble] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    inference: list[float] = field(default_factory=list)  # seconds, as the Worker says
    delivery: list[float] = field(default_factory=list)  # from the prediction to the consumer
    path: list[float] = field(default_factory=list)  # from the frame's arrival to the consumer, at most
    whole: list[float] = field(default_factory=list)  # from the recorder's send time to the consumer
    unmatched: int = 0  # events of cameras that were well whose picture could not be told
    events: Counter[str] = field(default_factory=Counter)  # by camera
    redelivered: int = 0  # repeats that the bus marked as such
    repeated: int = 0  # repeats that it did not
    doubled: int = 0  # other ids for what had one
    lost: int = 0  # told by gap records
    disturbances: list[str] = field(default_factory=list)
    calm: Gaps = field(default_factory=Gaps)  # while all cameras were well
    beside: Gaps = field(default_factory=Gaps)  # of those that were well while another was not
    status_delay: list[float] = field(default_factory=list)
    status_every: list[float] = field(default_factory=list)
    frame_age: list[float] = field(default_factory=list)  # of cameras that were well, as the Worker says
    is_ending: bool = False  # the Worker was told to end: that its streams disconnect is no fault
    _cameras: dict[str, _Camera] = field(default_factory=dict)
    _ids: set[str] = field(default_factory=set)
    _seqs: set[int] = field(default_factory=set)
    _troubled_at: float = 0.0  # when some camera was last known not to be well

    def begin(self, cameras: Sequence[str], now: float) -> None:
        """The Worker was started; until a camera streams that is what troubles it."""
        start = Trouble("start", tuple(cameras), now, cleared_at=now)
        self._cameras = {camera: _Camera(start) for camera in cameras}

    @property
    def missing(self) -> int:
        """Events that were numbered and never came; true when nothing is under way."""
        return max(self._seqs, default=0) - len(self._seqs)

    def well(self, now: float) -> list[str]:
        """The cameras that stream, and whose last fault is over for a while."""
        return [name for name, camera in self._cameras.items() if camera.is_well(now)]

    def set(self, trial: Trial, cameras: Sequence[str], now: float) -> Trouble:
        """A fault was set for these."""
        trouble = Trouble(trial.name, tuple(cameras), now, trial)
        self.troubles.append(trouble)
        for name in cameras:
            self._cameras[name].trouble = trouble
            self._cameras[name].looked_at = None
        return trouble

    def cleared(self, trouble: Trouble, now: float) -> None:
        """It was taken away."""
        trouble.cleared_at = now
        for name in trouble.cameras:
            self._cameras[name].well_at = now + QUIET_FOR

    def detected(self, event: DetectionEvent, *, now: float, wall: float, is_redelivered: bool = False) -> None:
        """A detection came; `wall` is the time now, since 1970."""
        if event.runner_id != self.runner_id:
            return
        if event.event_id in self._ids:
            self.redelivered += is_redelivered
            self.repeated += not is_redelivered
            return
        self._ids.add(event.event_id)
        self.doubled += event.seq in self._seqs
        self._seqs.add(event.seq)
        self.events[event.camera_uuid] += 1
        mark = next(found for thing in event.detections if (found := marked.read(thing.label)) is not None)
        self.inference.append(event.latency.inference_s)
        self.delivery.append(now - mark.looked_at)
        self._looked(event.camera_uuid, mark.looked_at)
        camera = self._cameras[event.camera_uuid]
        if camera.is_well(mark.looked_at):
            self.path.append(event.latency.e2e_s + now - mark.looked_at)
            looked_wall = wall - (now - mark.looked_at)
            camera.pending.append(_Pending((mark.scene, mark.loop_frame), looked_wall, wall))

    def reported(self, report: StreamReport, *, now: float, wall: float) -> None:
        """A status came."""
        camera = self._cameras.get(report.camera_uuid)
        if camera is None or report.runner_id != self.runner_id:
            return
        self.status_delay.append(wall - report.ts.timestamp())
        if camera.told_at is not None:
            self.status_every.append(now - camera.told_at)
        camera.told_at = now
        if report.last_frame_age_s is not None and camera.is_well(now):
            self.frame_age.append(report.last_frame_age_s)
        is_streaming = report.state is StreamState.STREAMING and report.substate is None
        if self.is_ending and report.state is StreamState.DISCONNECTED:
            return
        if not is_streaming:
            self._noticed(report.camera_uuid, report.error_code or report.state, now)
        elif not camera.is_streaming:
            camera.well_at = now + QUIET_FOR
            if camera.trouble is not None and camera.trouble.cleared_at is not None:
                camera.trouble.streaming_at[report.camera_uuid] = now
        camera.is_streaming = is_streaming

    def failed(self, failure: StreamFailed, *, now: float) -> None:
        """An error came."""
        if failure.runner_id == self.runner_id and failure.camera_uuid in self._cameras:
            self._noticed(failure.camera_uuid, failure.code, now)

    def sent(self, name: str, frames: Iterable[Mapping[str, Any]]) -> None:
        """The recorder tells when it took the pictures of a camera, the oldest first."""
        camera = self._cameras[name]
        for frame in frames:
            mark = (frame["scene"], frame["loop_frame"])
            camera.sent.setdefault(mark, deque(maxlen=_KEPT)).append(frame["sent_at"])
            camera.sent_until = frame["sent_at"]
        while camera.pending and camera.pending[0].looked_wall <= camera.sent_until:
            event = camera.pending.popleft()
            taken = [at for at in camera.sent.get(event.mark, ()) if at <= event.looked_wall]
            if taken:
                self.whole.append(event.came_wall - taken[-1])
            else:
                self.unmatched += 1

    def _noticed(self, name: str, code: str, now: float) -> None:
        camera = self._cameras[name]
        if camera.is_well(now) or camera.trouble is None:
            self.disturbances.append(f"{name}: {code}")
            return
        trouble = camera.trouble
        trouble.codes.add(code)
        trouble.noticed_at.setdefault(name, now)
        trouble.streaming_at.pop(name, None)
        camera.well_at = max(camera.well_at, now + QUIET_FOR)

    def _looked(self, name: str, at: float) -> None:
        camera = self._cameras[name]
        if not all(each.is_well(at) for each in self._cameras.values()):
            self._troubled_at = max(self._troubled_at, at)
        before, camera.looked_at = camera.looked_at, at if camera.is_well(at) else None
        if before is not None and camera.looked_at is not None:
            gaps = self.beside if self._troubled_at >= before else self.calm
            gaps.add(at - before, wanted=2 / self.max_fps)
