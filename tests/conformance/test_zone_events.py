"""The zone events, on every driver: the fence, each once, pages, tenants, and what is forgotten when."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from streamward.insight.records import Recent
from streamward.insight.zone_events import Crossed, Noted, ZoneEventRecord
from streamward.leases.store import Store
from streamward.model.ids import CameraId, TenantId
from streamward.model.zone import Crossing
from tests.support.builders import START, an_owner, at
from tests.support.fleet import named, take, with_cameras, with_runners
from tests.support.sightings import a_crossed
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
OURS, THEIRS = TenantId("tenant-1"), TenantId("tenant-2")
OUR_CAMERA, THEIR_CAMERA = CameraId("cam-1"), CameraId("cam-2")
TICK = timedelta(microseconds=1)
DAY = 86_400.0


async def with_two_tenants(store: Store) -> None:
    await with_cameras(store, OUR_CAMERA, tenant=OURS)
    await with_cameras(store, THEIR_CAMERA, tenant=THEIRS, site="site-2")
    await with_runners(store, ONE, TWO)
    for camera_id in (OUR_CAMERA, THEIR_CAMERA):
        await take(store, ONE, camera_id)


async def with_an_heir(world: World) -> None:
    """The second owner has had our camera since second 10; it is second 20."""
    await with_two_tenants(world.store)
    await world.sleep(10)
    await world.store.release(ONE, [replace(named(), made_until=at(10) - TICK)])
    assert (await take(world.store, TWO)).granted_at == at(10) + TICK
    await world.sleep(10)


def theirs(event_id: str) -> Crossed:
    return a_crossed(event_id, camera_id=THEIR_CAMERA, tenant_id=THEIRS, site_id="site-2")


async def numbers(world: World, *crossed: Crossed) -> list[int]:
    return [each.zone_event_id for each in await world.insight.zone_events.admit(crossed) if each is not None]


async def read(world: World, **wanted: Any) -> list[ZoneEventRecord]:
    return await world.insight.zone_events.page(Recent(**{"scope": None, **wanted}))


async def test_what_happened_at_a_zone_is_stored_and_read_whole(world: World):
    await with_two_tenants(world.store)
    await world.sleep(50)
    crossed = a_crossed(index=3, made_at=at(44), happened_at=at(42), kind=Crossing.LEAVE, stayed=42.5)
    [noted] = await world.insight.zone_events.admit([crossed])
    assert noted is not None
    assert noted == Noted(zone_event_id=noted.zone_event_id, made_at=at(42), is_late=False, is_new=True)
    assert await read(world) == [
        ZoneEventRecord(
            zone_event_id=noted.zone_event_id,
            event_id="event-1",
            index=3,
            tenant_id=OURS,
            site_id=crossed.site_id,
            camera_id=OUR_CAMERA,
            generation=crossed.generation,
            made_at=at(42),
            stamped_at=at(44),
            stored_at=at(50),
            is_late=False,
            kind=Crossing.LEAVE,
            zone="door",
            track_id=7,
            label="person",
            stayed=42.5,
        )
    ]


async def test_nothing_to_store_is_no_trouble(world: World):
    assert await world.insight.zone_events.admit([]) == ()


async def test_the_same_twice_is_stored_once_and_said_to_be_known(world: World):
    await with_two_tenants(world.store)
    [first] = await world.insight.zone_events.admit([a_crossed()])
    again = await world.insight.zone_events.admit([a_crossed(), a_crossed(index=1), a_crossed(index=1)])
    assert first is not None
    assert again[0] == replace(first, is_new=False)
    assert again[1] is not None
    assert again[1].is_new
    assert again[2] == replace(again[1], is_new=False)
    assert len(await read(world)) == 2


@pytest.mark.parametrize(
    "crossed",
    [a_crossed(generation=2), a_crossed(owner=TWO), a_crossed(camera_id="nowhere"), a_crossed(generation=2**63)],
)
async def test_what_nobody_was_granted_is_refused(world: World, crossed: Crossed):
    await with_two_tenants(world.store)
    assert await world.insight.zone_events.admit([crossed]) == (None,)
    assert await read(world) == []


@pytest.mark.parametrize(
    ("made_at", "is_late"), [(at(5), True), (at(10) - TICK, True), (at(10), None), (at(10) + TICK, None)]
)
async def test_the_frame_by_which_it_was_known_decides_and_not_when_it_happened(world: World, made_at, is_late):
    await with_an_heir(world)
    crossed = a_crossed(owner=ONE, made_at=made_at, happened_at=at(4), kind=Crossing.LEAVE)
    [noted] = await world.insight.zone_events.admit([crossed])
    assert (noted and noted.is_late) == is_late
    assert (noted and noted.made_at) == (at(4) if noted else None)
    assert len(await read(world)) == (noted is not None)


async def test_a_zone_event_is_never_dated_ahead_of_the_database(world: World):
    await with_two_tenants(world.store)
    [noted] = await world.insight.zone_events.admit([a_crossed(made_at=at(7), happened_at=at(7))])
    assert noted is not None
    assert noted.made_at == START + TICK, "when it was granted"


async def test_nobody_reads_another_tenant_s_zone_events(world: World):
    await with_two_tenants(world.store)
    ours, others = await numbers(world, a_crossed("a"), theirs("b"))
    for scope, number in ((OURS, ours), (THEIRS, others)):
        assert [each.zone_event_id for each in await read(world, scope=scope)] == [number]
    assert await read(world, scope=OURS, camera_id=THEIR_CAMERA) == []
    assert [each.zone_event_id for each in await read(world, camera_id=THEIR_CAMERA)] == [others]


async def test_zone_events_are_read_newest_first_and_page_by_page(world: World):
    await with_two_tenants(world.store)
    ids = await numbers(world, *(a_crossed(f"event-{number}") for number in range(5)))
    page = await read(world, scope=OURS, limit=2)
    assert [each.zone_event_id for each in page] == [ids[4], ids[3]]
    assert [each.zone_event_id for each in await read(world, before=ids[3])] == ids[2::-1]


async def test_what_is_old_is_forgotten_each_tenant_s_by_its_own_time(world: World):
    await with_two_tenants(world.store)
    await numbers(world, *(a_crossed(f"event-{number}") for number in range(3)))
    [their_id] = await numbers(world, theirs("theirs"))
    events = world.insight.zone_events
    await world.sleep(DAY)
    assert await events.prune({}, otherwise=DAY, limit=2) == 0
    await world.sleep(0.001)
    kept = {THEIRS: 2 * DAY}
    assert [await events.prune(kept, otherwise=DAY, limit=2) for _ in range(3)] == [2, 1, 0]
    assert [each.zone_event_id for each in await read(world)] == [their_id]
    assert (await events.admit([a_crossed("event-0")])) != (None,)
