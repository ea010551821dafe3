"""A Worker's metrics (S0-054 to S0-056, S4-43), with names as the specifications spell them."""

import contextlib

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from streamward.model.status import StreamState
from streamward.model.stream_error import StreamErrorCode
from streamward.runner.facts import EventNotKept, HardwareNotUsed, LeasesRenewed, ModelNotSwapped, ModelSwapped
from streamward.runtime.outbox import MessageRefused, MessagesPublished, PublishingFailed, RecordsDropped
from streamward.vision.stream import Condition

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_HAND_OFF = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)  # seconds; the goal is 0.005
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)


class WorkerMetrics:
    """What Prometheus scrapes of one shard."""

    def __init__(self, *, runner_id: str, shard_id: str) -> None:
        self._registry = every = CollectorRegistry()
        camera = ("camera_uuid",)
        self._up = Gauge("stream_up", "1 while the stream runs", camera, registry=every)
        self._age = Gauge("last_frame_age_seconds", "Since the last frame", camera, registry=every)
        self._fps = Gauge("stream_fps", "Frames a second", camera, registry=every)
        self._inference = _histogram("inference_latency_seconds", "Looking at one frame", every)
        self._path = _histogram("e2e_latency_seconds", "From a frame's arrival to its event", every)
        self._errors = Counter("stream_errors", "Failures by their code", ("camera_uuid", "code"), registry=every)
        self._state = Gauge("stream_state", "1 for the state it is in", ("camera_uuid", "state"), registry=every)
        self._detected = Counter("frames_looked_at", "Frames that the detector saw", camera, registry=every)
        self._dropped = Gauge("dropped_frames", "Frames that there was no time for", camera, registry=every)
        self._kept = Histogram("event_hand_off_seconds", "Handing an event over", buckets=_HAND_OFF, registry=every)
        self._published = Counter("messages_published", "Events that the bus confirmed", registry=every)
        self._lost = Counter("events_lost", "Events that gave way in a full spool", registry=every)
        self._refused = Counter("publishes_refused", "Times that the bus did not take an event", registry=every)
        self._spool = Gauge("spool_bytes", "What waits for the bus", registry=every)
        self._renewal = Gauge("lease_renew_rtt_seconds", "How long the last renewal took", registry=every)
        swaps = Counter("model_swaps", "Newer versions of models, by what became of them", ("result",), registry=every)
        software = Counter("hardware_decoding_failures", "Devices that could not decode", registry=every)
        self._by_fact = {  # each fact counts one
            EventNotKept: self._lost,
            ModelSwapped: swaps.labels("used"),
            ModelNotSwapped: swaps.labels("refused"),
            HardwareNotUsed: software,
        }
        pipeline = Gauge("pipeline_fps", "Frames looked at a second", ("runner_id", "shard_id"), registry=every)
        self._pipeline = pipeline.labels(runner_id=runner_id, shard_id=shard_id)

    def condition(self, camera_uuid: str, seen: Condition, now: float, *, dropped: int) -> None:
        """How a stream stands, and how many of its frames were passed over; one that never had any has no age."""
        self._dropped.labels(camera_uuid).set(dropped)
        self._up.labels(camera_uuid).set(seen.state is StreamState.STREAMING)
        self._fps.labels(camera_uuid).set(seen.fps)
        for state in StreamState:
            self._state.labels(camera_uuid, state).set(seen.state is state)
        if seen.last_frame_at is not None:
            self._age.labels(camera_uuid).set(max(0.0, now - seen.last_frame_at))

    def looked(self, camera_uuid: str, *, inference_s: float, e2e_s: float) -> None:
        """One frame was looked at."""
        self._detected.labels(camera_uuid).inc()
        self._inference.labels(camera_uuid).observe(inference_s)
        self._path.labels(camera_uuid).observe(e2e_s)

    def kept(self, took_s: float) -> None:
        """One event was handed over, to be published whenever the bus is there."""
        self._kept.observe(took_s)

    def failed(self, camera_uuid: str, code: str) -> None:
        """A stream failed."""
        self._errors.labels(camera_uuid, code).inc()

    def pipeline(self, fps: float) -> None:
        """How many frames of all cameras were looked at a second."""
        self._pipeline.set(fps)

    def spool(self, waiting: int) -> None:
        """So many bytes wait for the bus."""
        self._spool.set(waiting)

    def count(self, fact: object) -> None:
        """A sink for the journal: what is counted and not told."""
        match fact:
            case MessagesPublished(count=count):
                self._published.inc(count)
            case RecordsDropped(count=count):
                self._lost.inc(count)
            case PublishingFailed(error=MessageRefused(), times=times):
                self._refused.inc(times)
            case LeasesRenewed(duration_ms=duration_ms):
                self._renewal.set(duration_ms / 1000)
            case _ if type(fact) in self._by_fact:
                self._by_fact[type(fact)].inc()

    def forget(self, camera_uuid: str) -> None:
        """A camera that is not watched any more has no metrics."""
        with contextlib.suppress(KeyError):
            for state in StreamState:
                self._state.remove(camera_uuid, state)
        for metric in (self._up, self._age, self._fps, self._inference, self._path, self._detected, self._dropped):
            with contextlib.suppress(KeyError):  # it never had a value
                metric.remove(camera_uuid)
        for code in StreamErrorCode:
            with contextlib.suppress(KeyError):
                self._errors.remove(camera_uuid, code)

    def render(self) -> bytes:
        """Everything as text."""
        return generate_latest(self._registry)


def _histogram(name: str, about: str, registry: CollectorRegistry) -> Histogram:
    return Histogram(name, about, ("camera_uuid",), buckets=_SECONDS, registry=registry)
