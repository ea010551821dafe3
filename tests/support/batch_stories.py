"""Random stories of an index of open batches: what is added, sealed and forgotten, mostly at the edges of limits."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from streamward.insight.batch import BatchId, CloseReason, Lane, Limits, Sealed, Sighting
from streamward.insight.store import CLOSING_FOR, Addition, OpenBatches
from streamward.model.ids import CameraId, TenantId
from tests.support.builders import START

TICK = timedelta(microseconds=1)
LIMITS = (
    Limits(),
    Limits(most=3),
    Limits(most=1),
    Limits(window=0.3, idle=0.1, check_every=0.1),
    Limits(window=30, idle=90),
)
TENANTS = (TenantId("tenant-1"), TenantId("tenant:2"))

_EDGES = sorted({
    timedelta(seconds=length) + tick
    for length in (0, 0.1, 0.2, 0.3, 15, 30, 35, 60, 90)
    for tick in (-TICK, timedelta(0), TICK)
})
_LAGS = st.sampled_from([*_EDGES, timedelta(seconds=-5), timedelta(seconds=1000.000_007)])
_PAUSES = st.sampled_from([*_EDGES, CLOSING_FOR - TICK, CLOSING_FOR])


@dataclass(frozen=True)
class Add:
    """Detections of cameras come, each as old as it says."""

    offered: list[tuple[TenantId, str, Lane, Limits, list[tuple[int, timedelta]]]]


@dataclass(frozen=True)
class Urgent:
    tenant_id: TenantId
    camera: str
    detection_id: int
    lag: timedelta


@dataclass(frozen=True)
class Seal:
    tenant_id: TenantId
    limit: int
    is_check: bool


@dataclass(frozen=True)
class Forget:
    """Which of all that was ever told, from the newest; and one that nobody knows."""

    tenant_id: TenantId
    places: list[int]


@dataclass(frozen=True)
class Wait:
    seconds: timedelta


Step = Add | Urgent | Seal | Forget | Wait

_tenants = st.sampled_from(TENANTS)
_cameras = st.sampled_from(["cam-1", "cam:{2}"])
_detections = st.integers(1, 40)
_offered = st.tuples(
    _tenants,
    _cameras,
    st.sampled_from(Lane),
    st.sampled_from(LIMITS),
    st.lists(st.tuples(_detections, _LAGS), max_size=8),
)
stories = st.lists(
    st.one_of(
        st.builds(Add, st.lists(_offered, min_size=1, max_size=3)),
        st.builds(Add, st.lists(_offered, min_size=1, max_size=1)),
        st.builds(Urgent, _tenants, _cameras, _detections, _LAGS),
        st.builds(Seal, _tenants, st.integers(0, 4), st.booleans()),
        st.builds(Forget, _tenants, st.lists(st.integers(0, 6), max_size=3)),
        st.builds(Wait, _PAUSES),
    ),
    max_size=40,
)


@dataclass
class Teller:
    """Tells a story to one index and notes its answers; `now` is the story's own."""

    index: OpenBatches
    prefix: str
    now: datetime = START
    told: list[Sealed] = field(default_factory=list)

    async def tell(self, step: Step) -> list[Any]:
        match step:
            case Add(offered):
                return await self._add(offered)
            case Urgent(tenant_id, camera, detection_id, lag):
                sighting = Sighting(detection_id, self.now - lag)
                return [await self.index.add_urgent(self._of(tenant_id), CameraId(camera), sighting, now=self.now)]
            case Seal(tenant_id, limit, is_check):
                sealed = await self.index.seal_due(self._of(tenant_id), now=self.now, limit=limit, is_check=is_check)
                self.told += sealed
                return [sealed, await self.index.next_window_end(self._of(tenant_id))]
            case Forget(tenant_id, places):
                named = [self.told[-place - 1] for place in places if place < len(self.told)]
                await self.index.forget(self._of(tenant_id), [*named, unknown(self._of(tenant_id))])
                return []
            case Wait(pause):
                self.now += pause
                return []

    async def end(self) -> list[list[Sealed]]:
        """Everything is closed and forgotten."""
        self.now += timedelta(days=1)
        ends: list[list[Sealed]] = []
        for tenant_id in map(self._of, TENANTS):
            ends.append(await self.index.seal_due(tenant_id, now=self.now, limit=1000, is_check=True))
            await self.index.forget(tenant_id, ends[-1])
        return ends

    async def _add(self, offered: list[tuple[TenantId, str, Lane, Limits, list[tuple[int, timedelta]]]]) -> list[Any]:
        additions = [
            Addition(
                tenant_id=self._of(tenant_id),
                camera_id=CameraId(camera),
                sightings=[Sighting(number, self.now - lag) for number, lag in seen],
                lane=lane,
                limits=limits,
            )
            for tenant_id, camera, lane, limits, seen in offered
        ]
        placed = await self.index.add_all(additions, now=self.now)
        self.told += [batch for each in placed for batch in each.sealed]
        return list(placed)

    def _of(self, tenant_id: TenantId) -> TenantId:
        return TenantId(f"{self.prefix}{tenant_id}")


def unknown(tenant_id: TenantId) -> Sealed:
    """A batch that nobody has."""
    return Sealed(
        batch_id=BatchId("batch-" + "f" * 32),
        tenant_id=tenant_id,
        camera_id="cam-9",
        detection_ids=(1,),
        started_at=START,
        pipeline_start_time=START,
        closed_at=START,
        reason=CloseReason.IDLE,
    )
