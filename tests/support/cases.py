"""Closed batches and what was seen in them, for tests of analysts."""

import itertools
from datetime import timedelta

from streamward.insight.analysis import Case, Recorded
from streamward.insight.batch import BatchId, CloseReason, Sealed
from streamward.model.detection import Box, Detection
from tests.support import builders

BATCH = BatchId("batch-" + "a" * 32)

_ids = itertools.count(1)


def seen(
    label: str, confidence: float = 0.9, *, at: float = 0.0, zones: tuple[str, ...] = (), track: int | None = None
) -> Recorded:
    """One detection, so many seconds after the start."""
    return Recorded(
        detection_id=next(_ids),
        camera_id=builders.CAMERA,
        made_at=builders.at(at),
        detection=Detection(label, confidence, Box(1, 2, 30, 40), track_id=track, zones=zones),
        track=None if track is None else f"{builders.CAMERA}.1.1.{track}",
    )


def a_case(*things: Recorded, batch_id: BatchId = BATCH, reason: CloseReason = CloseReason.IDLE) -> Case:
    """A batch of these."""
    moments = [each.made_at for each in things]
    return Case(
        batch=Sealed(
            batch_id=batch_id,
            tenant_id=builders.TENANT,
            camera_id=builders.CAMERA,
            detection_ids=tuple(each.detection_id for each in things),
            started_at=min(moments) + timedelta(seconds=2),
            pipeline_start_time=min(moments),
            closed_at=max(moments),
            reason=reason,
        ),
        seen=things,
    )
