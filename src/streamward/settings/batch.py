"""Settings of batching: what holds for tenants that want nothing else."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from streamward.insight.batch import Limits
from streamward.insight.rules import DAY, Rules
from streamward.insight.urgency import Trigger, Triggers
from streamward.settings.part import PREFIX, Part
from streamward.settings.source_limits import listed

MIB = 2**20  # bytes
_LIMITS = Limits()
_TYPES = "Classes that this holds for, with commas between; without any it is off"


class BatchSettings(Part):
    """When batches close, what cannot wait for them, and how long they are kept."""

    window_seconds: Annotated[
        float, Field(ge=1, le=86_400, description="Seconds after its first detection that a batch closes")
    ] = _LIMITS.window
    idle_timeout_seconds: Annotated[
        float, Field(ge=1, le=86_400, description="Seconds after its last detection that a batch closes")
    ] = _LIMITS.idle
    max_detections: Annotated[
        int, Field(ge=1, le=10_000, description="Detections with which a batch is full, and closes")
    ] = _LIMITS.most
    check_seconds: Annotated[
        float,
        Field(
            ge=0.05,
            le=60,
            description="Seconds between two checks for idle batches; a window is closed within a second of its end",
        ),
    ] = _LIMITS.check_every
    fast_path_confidence_threshold: Annotated[
        float, Field(ge=0, le=1, description="How sure a detector must be of what is analysed at once")
    ] = 0.9
    fast_path_object_types: Annotated[str, Field(description=_TYPES)] = ""
    alert_confidence_threshold: Annotated[
        float, Field(ge=0, le=1, description="How sure a detector must be of what is told as an alert")
    ] = 0.9
    alert_object_types: Annotated[str, Field(description=_TYPES)] = ""
    kept_days: Annotated[
        float,
        Field(
            gt=0,
            le=36_500,
            description="Days for which batches, their detections and analyses, and zone events are kept",
        ),
    ] = 30.0
    kept_mb: Annotated[
        int,
        Field(
            ge=100,
            le=1_000_000,
            description="MiB that an embedded (SQLite) database may use: beyond that the oldest batches are removed "
            "before their days are over, with their detections, analyses and zone events; PostgreSQL has no such limit",
        ),
    ] = 2048
    pressure: Annotated[
        str,
        Field(
            description="What stops the intake when it is nearly used up, with commas between: `memory` of the host, "
            "`nvml` (a GPU's memory), `queue` (of batches that wait for an analyst), or what installed packages offer"
        ),
    ] = "memory,nvml"
    port: Annotated[
        int, Field(ge=0, le=65535, description="Loopback port of a batcher's metrics; 0 or taken: one that is free")
    ] = 9109

    @model_validator(mode="after")
    def _fit_each_other(self) -> Self:
        if self.idle_timeout_seconds > self.window_seconds:
            raise ValueError(
                f"{PREFIX}BATCH_IDLE_TIMEOUT_SECONDS is longer than {PREFIX}BATCH_WINDOW_SECONDS: it would never count"
            )
        return self

    @property
    def rules(self) -> Rules:
        """What holds for a tenant that wants nothing else."""
        return Rules(
            limits=Limits(
                window=self.window_seconds,
                idle=self.idle_timeout_seconds,
                most=self.max_detections,
                check_every=self.check_seconds,
            ),
            triggers=Triggers(
                alert=_trigger(self.alert_confidence_threshold, self.alert_object_types),
                analyse=_trigger(self.fast_path_confidence_threshold, self.fast_path_object_types),
            ),
            detections_kept=self.kept_days * DAY,
        )

    @property
    def sources(self) -> list[str]:
        """The names of what stops the intake."""
        return listed(self.pressure)


def _trigger(confidence: float, types: str) -> Trigger | None:
    labels = frozenset(listed(types))
    return Trigger(confidence=confidence, labels=labels) if labels else None
