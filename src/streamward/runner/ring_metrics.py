"""What Prometheus scrapes of the last seconds that a Worker keeps (S4-43); counted when somebody asks."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from streamward.model.ids import CameraId


def render(seconds: Mapping[CameraId, float], *, lost: int) -> bytes:
    """How much is kept of each camera, and how much of all could not be."""
    every = CollectorRegistry()
    kept = Gauge("ringbuf_seconds", "What is kept for clips", ("camera_uuid",), registry=every)
    for camera_uuid, each in seconds.items():
        kept.labels(camera_uuid).set(each)
    Gauge("ringbuf_lost_groups", "Groups of pictures that a disk did not take", registry=every).set(lost)
    return generate_latest(every)
