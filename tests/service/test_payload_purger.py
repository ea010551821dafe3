"""What deleted tenants have outside the database: payloads, open batches, dead letters."""

from dataclasses import replace

import pytest

from streamward.batcher.payload_purger import PayloadPurger, PayloadsDeleted
from streamward.insight.batch import Lane, Limits
from streamward.insight.store import IndexAway
from streamward.model.ids import CameraId, TenantId
from streamward.model.objects import ObjectKey, StoreAway
from streamward.model.tenant import TenantDeletion
from streamward.protocol import events
from tests.support.batch_desk import Desk, an_event, told
from tests.support.builders import CAMERA, TENANT
from tests.support.clocks import START
from tests.support.indexes import sightings

OURS, OTHERS = TenantId(TENANT), TenantId("others")
DELETION = TenantDeletion(
    tenant_key="~1", tenant_id=OURS, requested_at=START, tokens_after=START, rows_deleted_at=START
)


class Purged(Desk):
    """A batcher, and a tenant whose rows are deleted."""

    def __init__(self) -> None:
        super().__init__()
        self.db.deletions[DELETION.tenant_key] = DELETION
        self.purger = PayloadPurger(self.parts(), self.bus, self.objects)

    async def put(self, *tenants: TenantId) -> None:
        for tenant_id in tenants:
            key = ObjectKey(tenant_id=tenant_id, camera_id=CameraId(CAMERA), day=START.date(), name="event-1")
            await self.objects.put(key, b"content")

    async def bury(self, *tenants: TenantId) -> None:
        await self.bus.declare(events.DEAD)
        for number, tenant_id in enumerate(tenants):
            message = replace(told(an_event(START)), exchange=events.DEAD_DETECTIONS, message_id=f"{number}")
            key = f"detections.{tenant_id}.site-1.cam-1"
            await self.bus.publish(replace(message, routing_key=key, is_mandatory=False))

    def is_done(self) -> bool:
        return self.db.deletions[DELETION.tenant_key].payloads_deleted_at is not None


async def test_everything_of_a_deleted_tenant_goes_and_nothing_of_others():
    desk = Purged()
    await desk.put(OURS, OTHERS)
    await desk.bury(OTHERS, OURS, OURS, OTHERS)
    for tenant_id in (OURS, OTHERS):
        await desk.index.add(tenant_id, CameraId(CAMERA), sightings(0), lane=Lane.PRESENT, limits=Limits(), now=START)
    await desk.purger.tick()
    assert desk.is_done()
    assert [key.split("/")[0] for key in desk.objects.kept] == [OTHERS]
    assert [each.message_id for each in desk.waiting(events.DEAD.name)] == ["0", "3"]
    assert await desk.index.next_window_end(OURS) is None
    assert await desk.index.next_window_end(OTHERS) is not None
    assert desk.of(PayloadsDeleted) == [PayloadsDeleted(tenant_id=OURS, tenant_key="~1", objects=1, dead_letters=2)]


async def test_a_batcher_says_that_it_is_there_and_does_nothing_before_the_rows_are_deleted():
    desk = Purged()
    desk.db.deletions[DELETION.tenant_key] = replace(DELETION, rows_deleted_at=None)
    await desk.put(OURS)
    await desk.purger.tick()
    assert desk.db.has_batchers
    assert not desk.is_done()
    assert len(desk.objects.kept) == 1


async def test_a_message_whose_key_says_nothing_stays_where_it_is():
    desk = Purged()
    await desk.bus.declare(events.DEAD)
    odd = replace(told(an_event(START)), exchange=events.DEAD_DETECTIONS, routing_key="odd", is_mandatory=False)
    await desk.bus.publish(odd)
    await desk.purger.tick()
    assert [each.routing_key for each in desk.waiting(events.DEAD.name)] == ["odd"]


async def test_what_cannot_be_deleted_now_is_deleted_later():
    desk = Purged()
    await desk.put(OURS)
    desk.objects.is_away = True
    with pytest.raises(StoreAway):
        await desk.purger.tick()
    desk.objects.is_away = False
    desk.index.failing = {"drop_tenant"}
    with pytest.raises(IndexAway):
        await desk.purger.tick()
    assert not desk.is_done()
    desk.index.failing = set()
    await desk.purger.tick()
    assert desk.is_done()
    assert desk.objects.kept == {}


async def test_objects_are_left_alone_once_another_batcher_has_finished():
    desk = Purged()
    await desk.put(OURS)
    listed = desk.objects.names

    async def overtaken(tenant_id: TenantId, *, limit: int) -> list[str]:
        found = await listed(tenant_id, limit=limit)
        await desk.insight.deletions.payloads_deleted(DELETION)
        return found

    desk.objects.names = overtaken  # type: ignore[method-assign]
    await desk.purger.tick()
    assert len(desk.objects.kept) == 1
