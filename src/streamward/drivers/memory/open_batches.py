"""The index of open batches in memory: `insight.batch` applied to dictionaries.

The twin of Redis for tests, and all that a batcher without Redis has: then it is rebuilt from the database at start.
"""

import heapq
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from streamward.drivers.batch_names import Names, fresh
from streamward.insight import batch as rules
from streamward.insight.batch import BatchId, CloseReason, Gathering, Lane, Limits, OpenBatch, Sealed, Sighting
from streamward.insight.store import ALERTED_FOR, CLOSING_FOR, Addition, Placed
from streamward.model.ids import CameraId, TenantId


@dataclass(slots=True)
class _Open:
    camera_id: CameraId
    lane: Lane
    batch: OpenBatch
    window_ends_at: datetime  # both by the limits of the tenant when the last one came
    idle_after: datetime


@dataclass(slots=True)
class _Closing:
    batch: Sealed
    since: datetime  # when somebody last was told to close it


@dataclass(slots=True)
class _Shelf:
    """What there is of one tenant."""

    gatherings: dict[CameraId, Gathering] = field(default_factory=dict)
    opened: dict[BatchId, _Open] = field(default_factory=dict)
    closing: dict[BatchId, _Closing] = field(default_factory=dict)
    places: dict[tuple[CameraId, int], BatchId] = field(default_factory=dict)  # of each detection in either of them
    alerted: dict[str, tuple[int, datetime]] = field(default_factory=dict)  # detection and last offer, by track

    def gather(self, camera_id: CameraId, gathering: Gathering) -> None:
        """What is open of a camera from now on."""
        self.gatherings[camera_id] = gathering
        if gathering == Gathering():
            del self.gatherings[camera_id]

    def seal(self, batch: Sealed) -> None:
        """It grows no more."""
        self.opened.pop(batch.batch_id, None)
        self.closing[batch.batch_id] = _Closing(batch, batch.closed_at)

    def close(
        self, tenant_id: TenantId, due: Sequence[tuple[datetime, BatchId]], reason: CloseReason, now: datetime
    ) -> list[BatchId]:
        """Seals open batches in this order."""
        for _, batch_id in due:
            held = self.opened[batch_id]
            self.gather(held.camera_id, self.gatherings[held.camera_id].having(held.lane, None))
            self.seal(_sealed(tenant_id, held.camera_id, held.batch, reason, now))
        return [batch_id for _, batch_id in due]

    def sealed_of(self, camera_id: CameraId) -> list[BatchId]:
        """What is sealed and not forgotten, oldest first."""
        every = [each.batch for each in self.closing.values() if each.batch.camera_id == camera_id]
        return [batch.batch_id for batch in sorted(every, key=lambda batch: (batch.closed_at, batch.batch_id))]

    def told(self, named: Sequence[BatchId], now: datetime) -> tuple[Sealed, ...]:
        """Each of them once; whoever is told closes it, and has as long for that as who sealed it."""
        for batch_id in named:
            self.closing[batch_id].since = now
        return tuple(self.closing[batch_id].batch for batch_id in dict.fromkeys(named))

    def forget(self, batch_id: BatchId) -> None:
        """It is written down."""
        closing = self.closing.pop(batch_id, None)
        if closing is not None:
            for detection_id in closing.batch.detection_ids:
                del self.places[CameraId(closing.batch.camera_id), detection_id]


class MemoryOpenBatches:
    """The index; whoever shares it shares the batches."""

    def __init__(self, names: Names = fresh) -> None:
        self._names = names
        self._began = secrets.token_hex(4)
        self._shelves: dict[TenantId, _Shelf] = {}

    async def add(
        self,
        tenant_id: TenantId,
        camera_id: CameraId,
        sightings: Sequence[Sighting],
        *,
        lane: Lane,
        limits: Limits,
        now: datetime,
    ) -> Placed:
        """Puts detections of one camera where they belong."""
        return self._add(
            Addition(tenant_id=tenant_id, camera_id=camera_id, sightings=sightings, lane=lane, limits=limits), now
        )

    async def add_all(self, additions: Sequence[Addition], *, now: datetime) -> list[Placed]:
        """Adds for many cameras."""
        return [self._add(addition, now) for addition in additions]

    async def add_urgent(
        self, tenant_id: TenantId, camera_id: CameraId, sighting: Sighting, *, now: datetime
    ) -> Placed:
        """A batch of one, sealed at once."""
        shelf, name = self._shelf(tenant_id), self._names()
        held = shelf.places.get((camera_id, sighting.detection_id))
        if held is not None:
            return Placed(batch_ids=(held,), sealed=shelf.told(shelf.sealed_of(camera_id), now))
        shelf.places[camera_id, sighting.detection_id] = name
        alone = OpenBatch.opened(name, sighting, now=now)
        shelf.seal(_sealed(tenant_id, camera_id, alone, CloseReason.FAST_PATH, now))
        return Placed(batch_ids=(name,), sealed=shelf.told([name], now))

    async def claim_alerts(
        self, tenant_id: TenantId, tracks: Sequence[tuple[str, int]], *, now: datetime
    ) -> frozenset[int]:
        """Of each track the first detection that was offered; the track that was offered longest ago comes first."""
        alerted = self._shelf(tenant_id).alerted
        while alerted and next(iter(alerted.values()))[1] + ALERTED_FOR <= now:
            del alerted[next(iter(alerted))]
        claimed: set[int] = set()
        for track, detection_id in tracks:
            first, _ = alerted.pop(track, (detection_id, now))
            alerted[track] = (first, now)
            claimed.update({first} & {detection_id})
        return frozenset(claimed)

    async def seal_due(self, tenant_id: TenantId, *, now: datetime, limit: int, is_check: bool) -> list[Sealed]:
        """Adopts what nobody closes, then seals what is due."""
        shelf = self._shelf(tenant_id)
        left = [(each.since, batch_id) for batch_id, each in shelf.closing.items() if each.since + CLOSING_FOR <= now]
        named = [batch_id for _, batch_id in heapq.nsmallest(limit, left)]
        ended = [
            (each.window_ends_at, batch_id) for batch_id, each in shelf.opened.items() if each.window_ends_at <= now
        ]
        named += shelf.close(tenant_id, heapq.nsmallest(limit - len(named), ended), CloseReason.WINDOW, now)
        if is_check:
            idle = [(each.idle_after, batch_id) for batch_id, each in shelf.opened.items() if each.idle_after < now]
            named += shelf.close(tenant_id, heapq.nsmallest(limit - len(named), idle), CloseReason.IDLE, now)
        return list(shelf.told(named, now))

    async def forget(self, tenant_id: TenantId, batches: Sequence[Sealed]) -> None:
        """They are written down."""
        for batch in batches:
            self._shelf(tenant_id).forget(batch.batch_id)

    async def drop_tenant(self, tenant_id: TenantId) -> None:
        """Forgets every batch of a tenant."""
        self._shelves.pop(tenant_id, None)

    async def next_window_end(self, tenant_id: TenantId) -> datetime | None:
        """When the next window ends."""
        return min((held.window_ends_at for held in self._shelf(tenant_id).opened.values()), default=None)

    async def began(self) -> str:
        """Another text for every new index."""
        return self._began

    async def close(self) -> None:
        """There is nothing to end."""

    def _shelf(self, tenant_id: TenantId) -> _Shelf:
        return self._shelves.setdefault(tenant_id, _Shelf())

    def _add(self, addition: Addition, now: datetime) -> Placed:
        shelf, camera_id = self._shelf(addition.tenant_id), addition.camera_id
        batch_ids: list[BatchId] = []
        over: list[BatchId] = []
        is_repeat = False
        for sighting in addition.sightings:
            name, held = self._names(), shelf.places.get((camera_id, sighting.detection_id))
            is_repeat = is_repeat or held is not None
            if held is None:
                held, sealed = _put(shelf, addition, sighting, fresh=name, now=now)
                over += sealed
            batch_ids.append(held)
        over += shelf.sealed_of(camera_id) if is_repeat else ()
        return Placed(batch_ids=tuple(batch_ids), sealed=shelf.told(over, now))


def _put(
    shelf: _Shelf, addition: Addition, sighting: Sighting, *, fresh: BatchId, now: datetime
) -> tuple[BatchId, list[BatchId]]:
    """Where a detection went that was in no batch, and what is over by that."""
    camera_id, limits = addition.camera_id, addition.limits
    gathering = shelf.gatherings.get(camera_id, Gathering())
    step = rules.add(gathering, sighting, lane=addition.lane, limits=limits, now=now, fresh=fresh)
    shelf.gather(camera_id, step.gathering)
    shelf.places[camera_id, sighting.detection_id] = step.batch_id
    for batch, reason in step.sealed:
        shelf.seal(_sealed(addition.tenant_id, camera_id, batch, reason, now))
    for lane in Lane:
        batch_now = step.gathering.on(lane)
        if batch_now is not None and batch_now.batch_id == step.batch_id:
            shelf.opened[step.batch_id] = _Open(
                camera_id, lane, batch_now, batch_now.window_ends_at(limits), batch_now.idle_after(limits)
            )
    return step.batch_id, [batch.batch_id for batch, _ in step.sealed]


def _sealed(tenant_id: TenantId, camera_id: CameraId, batch: OpenBatch, reason: CloseReason, now: datetime) -> Sealed:
    return Sealed(
        batch_id=batch.batch_id,
        tenant_id=tenant_id,
        camera_id=camera_id,
        detection_ids=batch.detection_ids,
        started_at=batch.started_at,
        pipeline_start_time=batch.first_made_at,
        closed_at=now,
        reason=reason,
    )
