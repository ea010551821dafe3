"""Dial budgets and stream reports in memory."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from streamward.drivers.memory.database import Dialing, DialKey, MemoryDatabase
from streamward.leases import dialing
from streamward.leases.dialing import Bucket, DialGranted
from streamward.leases.store import BudgetView, Dial, DialOutcome
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, Generation, SiteId, TenantId
from streamward.model.status import StreamState, StreamStatus


class MemoryDials:
    """The dial port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def consume_all(self, dials: Sequence[Dial], *, scope: TenantId | None) -> list[DialOutcome]:
        return [await self.consume(dial, scope=scope) for dial in dials]

    async def consume(self, dial: Dial, *, scope: TenantId | None) -> DialOutcome:
        bucket = self._bucket(dial.site_id, scope)
        if bucket is None:
            return None
        now = self._db.now()
        key = self._key(dial) or self._next_anonymous(dial.site_id)
        if key in self._db.dials:
            return DialGranted(bucket=bucket.refilled(now))
        outcome = dialing.consume(
            bucket, in_flight=self._in_flight(dial.site_id), takeover=self._is_takeover(dial), now=now
        )
        self._db.buckets[dial.site_id] = outcome.bucket
        if isinstance(outcome, DialGranted):
            self._db.dials[key] = Dialing(granted_at=now)
        return outcome

    async def finish(self, dial: Dial, *, scope: TenantId | None) -> bool:
        if self._bucket(dial.site_id, scope) is None:
            return False
        key = self._key(dial) or min(self._under_way(dial.site_id, anonymous=True), default=None)
        return key is not None and self._db.dials.pop(key, None) is not None

    async def finish_all(self, dials: Sequence[Dial], *, scope: TenantId | None) -> int:
        return sum([await self.finish(dial, scope=scope) for dial in dials])

    async def budgets(self) -> dict[SiteId, BudgetView]:
        found = {site_id: await self.budget(site_id, scope=None) for site_id in self._db.sites}
        return {site_id: view for site_id, view in found.items() if view is not None}

    async def budget(self, site_id: SiteId, *, scope: TenantId | None) -> BudgetView | None:
        bucket = self._bucket(site_id, scope)
        if bucket is None:
            return None
        waiting = sum(self._waits(camera) for camera in self._db.cameras.values() if camera.site_id == site_id)
        bucket = bucket.refilled(self._db.now())
        return BudgetView(bucket=bucket, in_flight=self._in_flight(site_id), waiting=waiting)

    def _bucket(self, site_id: SiteId, scope: TenantId | None) -> Bucket | None:
        site = self._db.sites.get(site_id)
        if site is None or scope not in (None, site.tenant_id):
            return None
        bucket = self._db.buckets[site_id]
        size = sum(camera.site_id == site_id and camera.is_wanted for camera in self._db.cameras.values())
        grown = max(0, size - bucket.reserve_size)
        return replace(bucket, reserve_size=size, reserve=min(float(size), bucket.reserve + grown))

    def _key(self, dial: Dial) -> DialKey | None:
        """A named dial's key; an anonymous one has none, for it cannot be told from the next."""
        return (dial.site_id, dial.camera_id, dial.generation, 0) if dial.camera_id else None

    def _next_anonymous(self, site_id: SiteId) -> DialKey:
        return (site_id, None, None, 1 + max((key[3] for key in self._db.dials), default=0))

    def _in_flight(self, site_id: SiteId) -> int:
        return len(self._under_way(site_id))

    def _under_way(self, site_id: SiteId, *, anonymous: bool = False) -> list[DialKey]:
        now = self._db.now()
        return [
            key
            for key, dialed in self._db.dials.items()
            if key[0] == site_id
            and (key[1] is None or not anonymous)
            and 0 <= (now - dialed.granted_at).total_seconds() < dialing.IN_FLIGHT_FOR
        ]

    def _waits(self, camera: Camera) -> bool:
        """Whether it is wanted, and was neither dialed nor reported on under its present lease."""
        lease, status = self._db.leases.get(camera.camera_id), self._db.statuses.get(camera.camera_id)
        if lease is None or not lease.takes_slot:
            return camera.is_wanted
        is_dialed = (camera.site_id, camera.camera_id, lease.generation, 0) in self._db.dials
        is_reported = status is not None and lease.generation == (status.generation or status.streamed_generation)
        return camera.is_wanted and not is_dialed and not is_reported

    def _is_takeover(self, dial: Dial) -> bool:
        status = self._db.statuses.get(dial.camera_id) if dial.camera_id else None
        if status is None or status.streamed_at is None or dial.generation is None:
            return False
        earlier = (status.streamed_generation or 0) < dial.generation
        return earlier and (self._db.now() - status.streamed_at).total_seconds() <= dialing.TAKEOVER_WITHIN


class MemoryStatuses:
    """The status port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def record(self, reports: Sequence[StreamStatus]) -> int:
        return sum(self._record(report) for report in reports)

    async def find_status(self, camera_id: CameraId) -> StreamStatus | None:
        return self._db.statuses.get(camera_id)

    def _record(self, report: StreamStatus) -> bool:
        lease = self._db.leases.get(report.camera_id)
        is_owner = lease is not None and lease.owner is not None and lease.owner.runner_id == report.runner_id
        if lease is None or not is_owner or report.generation not in (None, lease.generation):
            return False
        camera, grant = self._db.cameras.get(report.camera_id), self._db.grants[report.camera_id].get(lease.generation)
        if camera is None or grant is None or camera.tenant_id != grant.tenant_id:
            return False
        streamed_at, streamed_generation = self._streamed(report.camera_id)
        if report.state is StreamState.STREAMING:
            streamed_at, streamed_generation = self._db.now(), lease.generation
        self._db.statuses[report.camera_id] = replace(
            report, streamed_at=streamed_at, streamed_generation=streamed_generation
        )
        return True

    def _streamed(self, camera_id: CameraId) -> tuple[datetime | None, Generation | None]:
        known = self._db.statuses.get(camera_id)
        return (known.streamed_at, known.streamed_generation) if known else (None, None)
