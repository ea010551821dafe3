"""People's edits, on every driver: all or nothing, in the state that was read, written down and announced."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from streamward.leases.store import Claim, Granted, OpenClaim
from streamward.model.camera import Camera, Site
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.register import (
    REMEMBERED_FOR,
    TOLD_FOR,
    AuditFilter,
    Edit,
    Edited,
    Hindrance,
    NotEdited,
    Once,
    Repeated,
)
from streamward.model.tenant import Tenant
from streamward.model.vault import Sealed
from streamward.model.video import DecodeMode
from streamward.model.zone import Zone
from tests.support.builders import CAMERA, SITE, TENANT, a_camera, a_site, an_owner, at
from tests.support.fleet import ADA, with_runners
from tests.support.stores import World

ONE, TWO = Sealed("v1.key-1.b25l"), Sealed("v1.key-2.dHdv")
ONCE = Once(subject="ada", key="key-1", digest="d1")
SEALED = replace(a_camera(), sealed=ONE, credential_version=1)
ALL = AuditFilter(scope=None)


async def with_place(world: World) -> World:
    await world.store.save_site(a_site())
    return world


async def edited(world: World, *edits: Edit, once: Once | None = None) -> Any:
    outcome = await world.store.edit(edits, author=ADA, once=once)
    assert isinstance(outcome, Edited), outcome
    return outcome.things[0]


async def refused(world: World, *edits: Edit) -> Hindrance:
    outcome = await world.store.edit(edits, author=ADA)
    assert isinstance(outcome, NotEdited), outcome
    return outcome.why


async def added(world: World, camera: Camera = SEALED) -> Camera:
    await with_place(world)
    camera_added: Camera = await edited(world, Edit(after=camera))
    return camera_added


async def found(world: World, camera_id: str = CAMERA) -> Camera | None:
    return await world.store.find_camera(CameraId(camera_id), scope=None)


THINGS: list[Any] = [
    Tenant(tenant_id=TenantId("tenant-9"), tenant_key="~9", name="Nine", updated_at=at(-9)),
    replace(a_site("site-9"), dials=3, dials_per_minute=30.0, tls_ca="-----BEGIN CERTIFICATE-----\n"),
    replace(
        SEALED,
        camera_id=CameraId("cam-9"),
        name="door",
        tls_fingerprint="ab" * 32,
        detector="yolo",
        max_fps=5.5,
        decode=DecodeMode.ADAPTIVE,
        detect_every_n_frames=3,
        zones=(
            Zone(name="door", corners=((0.0, 1 / 3), (1.0, 0.0), (0.5, 1.0)), leaves_out=True),
            Zone(name="yard", corners=((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)), dwell_s=30.0),
        ),
        thresholds=(("*", 0.25), ("péngo", 1.0)),
        labels=(("a", "b"), ("c", "é")),
    ),
]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
async def test_a_thing_is_added_once_changed_and_removed(world: World, thing: Any):
    await with_place(world)
    first = await edited(world, Edit(after=thing))
    assert first == replace(thing, updated_at=at(0), revision=1)
    assert await refused(world, Edit(after=thing)) is Hindrance.TAKEN
    await world.advance(1)
    second = await edited(world, Edit(before=first, after=first))
    assert second == replace(first, updated_at=at(1), revision=2)
    assert await refused(world, Edit(before=first, after=first)) is Hindrance.CHANGED
    assert await refused(world, Edit(before=first)) is Hindrance.CHANGED
    assert await edited(world, Edit(before=second)) is None
    assert await refused(world, Edit(before=second)) is Hindrance.CHANGED


async def test_what_is_kept_is_what_was_meant(world: World):
    await with_place(world)
    for thing in THINGS:
        await edited(world, Edit(after=thing))
    stamps = {"updated_at": at(0), "revision": 1}
    assert await world.store.find_tenant(TenantId("tenant-9"), scope=None) == replace(THINGS[0], **stamps)
    assert await world.store.find_site(SiteId("site-9"), scope=None) == replace(THINGS[1], **stamps)
    assert await found(world, "cam-9") == replace(THINGS[2], **stamps)


async def test_a_site_s_budget_follows_it(world: World):
    await with_place(world)
    site = await edited(world, Edit(after=a_site("site-9")))
    await edited(world, Edit(before=site, after=replace(site, dials=7, dials_per_minute=60.0)))
    budget = await world.store.budget(SiteId("site-9"), scope=None)
    assert budget is not None
    assert (budget.bucket.capacity, budget.bucket.per_minute) == (7, 60)


async def test_a_thing_needs_the_place_that_it_names(world: World):
    await with_place(world)
    assert await refused(world, Edit(after=a_site("site-9", tenant="tenant-9"))) is Hindrance.NO_PLACE
    assert await refused(world, Edit(after=a_camera(site="site-9"))) is Hindrance.NO_PLACE
    assert await refused(world, Edit(after=a_camera(tenant="tenant-9"))) is Hindrance.NO_PLACE
    camera = await edited(world, Edit(after=a_camera()))
    moved = replace(camera, site_id=SiteId("site-9"))
    assert await refused(world, Edit(before=camera, after=moved)) is Hindrance.NO_PLACE


async def test_what_others_need_is_not_removed(world: World):
    camera = await added(world)
    site = await world.store.find_site(SITE, scope=None)
    tenant = await world.store.find_tenant(TENANT, scope=None)
    assert await refused(world, Edit(before=tenant)) is Hindrance.IN_USE
    assert await refused(world, Edit(before=site)) is Hindrance.IN_USE
    await edited(world, Edit(before=camera))
    await edited(world, Edit(before=site))
    await edited(world, Edit(before=tenant))


async def test_one_bad_edit_takes_all_of_its_list_back(world: World):
    await added(world)
    before = (await world.store.audit(ALL), await world.store.newest())
    new = [Edit(after=a_camera(f"cam-{number}")) for number in (2, 3)]
    assert await refused(world, *new, Edit(after=SEALED)) is Hindrance.TAKEN
    assert await found(world, "cam-2") is None
    assert (await world.store.audit(ALL), await world.store.newest()) == before


async def test_a_name_is_one_camera_s_within_its_tenant(world: World):
    door = await added(world, replace(a_camera(), name="door"))
    await world.store.save_site(a_site("site-8", tenant="tenant-8"))
    elsewhere = replace(a_camera("cam-8", site="site-8", tenant="tenant-8"), name="door")
    await edited(world, Edit(after=elsewhere))
    second, gate = replace(a_camera("cam-2"), name="door"), replace(a_camera("cam-3"), name="gate")
    assert await refused(world, Edit(after=gate), Edit(after=second)) is Hindrance.NAME_TAKEN
    assert await found(world, "cam-3") is None
    assert (
        await refused(world, Edit(after=gate), Edit(after=replace(gate, camera_id=CameraId("cam-4"))))
        is Hindrance.NAME_TAKEN
    )
    kept = await edited(world, Edit(after=gate))
    assert await refused(world, Edit(before=kept, after=replace(kept, name="door"))) is Hindrance.NAME_TAKEN
    yard = await edited(world, Edit(before=door, after=replace(door, name="yard")))
    await edited(world, Edit(before=kept, after=replace(kept, name="door")))
    await edited(world, Edit(before=yard))
    await edited(world, Edit(after=replace(second, name="yard")))


async def test_of_many_that_take_a_name_at_once_one_gets_it(world: World):
    await with_place(world)
    cameras = [replace(a_camera(f"cam-{number}"), name="door") for number in range(8)]
    later = [await edited(world, Edit(after=replace(a_camera(f"late-{number}"), name=None))) for number in range(4)]
    edits = [Edit(after=camera) for camera in cameras]
    edits += [Edit(before=camera, after=replace(camera, name="door")) for camera in later]
    outcomes = await asyncio.gather(*(world.store.edit([edit], author=ADA) for edit in edits))
    assert sum(isinstance(each, Edited) for each in outcomes) == 1
    assert {each.why for each in outcomes if isinstance(each, NotEdited)} == {Hindrance.NAME_TAKEN}


async def test_a_long_list_is_one_edit(world: World):
    await with_place(world)
    cameras = [a_camera(f"cam-{number:04}") for number in range(1500)]
    outcome = await world.store.edit([Edit(after=camera) for camera in cameras], author=ADA)
    assert isinstance(outcome, Edited)
    assert [thing.camera_id for thing in outcome.things if isinstance(thing, Camera)] == [
        camera.camera_id for camera in cameras
    ]
    assert len(await world.store.announced(scope=None, after=0, limit=2000)) == 1500


async def test_a_credential_is_resealed_in_place(world: World):
    camera = await added(world)
    assert await world.store.reseal(CAMERA, old=ONE, new=TWO)
    assert await found(world) == replace(camera, sealed=TWO)
    assert not await world.store.reseal(CAMERA, old=ONE, new=TWO)
    assert not await world.store.reseal(CameraId("cam-9"), old=ONE, new=TWO)


async def test_an_edit_does_not_take_a_new_key_back(world: World):
    camera = await added(world)
    await world.store.reseal(CAMERA, old=ONE, new=TWO)
    await edited(world, Edit(before=camera, after=replace(camera, enabled=False)))
    changed = await found(world)
    assert changed is not None
    assert (changed.sealed, changed.enabled) == (TWO, False)


async def test_a_grant_comes_with_the_sealed_credential(world: World):
    camera = await added(world)
    await with_runners(world.store, an_owner())
    granted = await world.store.acquire_free(OpenClaim(owner=an_owner(), limit=1))
    assert isinstance(granted, Granted)
    assert granted.leases[0][1] == camera
    again = await world.store.acquire(Claim(owner=an_owner(), camera_id=CAMERA))
    assert isinstance(again, Granted)
    assert again.leases[0][1] == camera


async def test_a_camera_made_anew_under_an_old_id_is_not_the_old_one(world: World):
    camera = await added(world)
    await edited(world, Edit(before=camera))
    await world.advance(1)
    await added(world)
    assert await refused(world, Edit(before=camera, after=replace(camera, enabled=False))) is Hindrance.CHANGED


async def test_a_creation_that_is_repeated_creates_nothing(world: World):
    await with_place(world)
    await edited(world, Edit(after=a_camera()), once=ONCE)
    repeated = Repeated(object_id=CAMERA, made_at=at(0), digest="d1")
    other = [Edit(after=a_camera("cam-2"))]
    assert await world.store.edit(other, author=ADA, once=replace(ONCE, digest="d2")) == repeated
    assert await world.store.edit([Edit(after=a_camera())], author=ADA, once=ONCE) == repeated
    assert await found(world, "cam-2") is None
    await edited(world, *other, once=replace(ONCE, subject="bob"))
    await edited(world, Edit(after=a_camera("cam-3")), once=replace(ONCE, key="key-2"))


async def test_a_creation_that_failed_leaves_its_name_free(world: World):
    await added(world)
    assert isinstance(await world.store.edit([Edit(after=a_camera())], author=ADA, once=ONCE), NotEdited)
    await edited(world, Edit(after=a_camera("cam-2")), once=ONCE)


async def test_the_name_of_a_creation_is_forgotten_after_a_day(world: World):
    await with_place(world)
    await edited(world, Edit(after=a_camera()), once=ONCE)
    await world.sleep(REMEMBERED_FOR - 1)
    edit = Edit(after=a_camera("cam-2"))
    assert isinstance(await world.store.edit([edit], author=ADA, once=ONCE), Repeated)
    await world.sleep(1)
    await edited(world, edit, once=ONCE)


async def test_creations_of_one_name_at_once_create_one_camera(world: World):
    await with_place(world)
    async with world.another() as other:
        stores = (world.store, other, world.store, other)
        made = await asyncio.gather(
            *(
                store.edit([Edit(after=a_camera(f"cam-{number}"))], author=ADA, once=ONCE)
                for number, store in enumerate(stores)
            )
        )
    assert sorted(type(each).__name__ for each in made) == ["Edited", "Repeated", "Repeated", "Repeated"]


async def test_each_edit_is_in_the_audit_with_its_author_but_without_secrets(world: World):
    camera = await added(world)
    await world.advance(1)
    await edited(world, Edit(before=camera, after=replace(camera, enabled=False, sealed=TWO, credential_version=2)))
    newest, first = await world.store.audit(replace(ALL, object_id=CAMERA))
    assert (newest.action, newest.at, newest.author, newest.tenant_id) == ("camera.updated", at(1), ADA, TENANT)
    assert newest.before == first.after
    assert newest.before is not None
    assert newest.after == {**newest.before, "enabled": False, "credential_version": 2}
    assert first.before is None
    assert newest.after["rtsp_url"] == "rtsp://***@192.0.2.1/stream"
    assert not any(seal in json.dumps(newest.after) for seal in (ONE, TWO))


async def test_the_audit_is_read_in_parts_and_by_whose_it_is(world: World):
    await added(world)
    await edited(world, Edit(after=Tenant(tenant_id=TenantId("tenant-9"), tenant_key="~9", updated_at=at(0))))
    rows = await world.store.audit(ALL)
    assert [row.action for row in rows] == ["tenant.created", "camera.created"]
    assert await world.store.audit(replace(ALL, before=rows[0].position)) == rows[1:]
    assert await world.store.audit(replace(ALL, limit=1)) == rows[:1]
    assert await world.store.audit(AuditFilter(scope=TENANT)) == rows[1:]
    assert await world.store.audit(replace(ALL, tenant_id=TenantId("tenant-9"))) == rows[:1]
    assert await world.store.audit(replace(ALL, subject="bob")) == []
    assert await world.store.audit(replace(ALL, action="camera.created")) == rows[1:]
    assert await world.store.audit(replace(ALL, since=at(1))) == []


async def test_cameras_are_announced_in_order_without_their_url(world: World):
    camera = await added(world)
    changed = await edited(world, Edit(before=camera, after=replace(camera, enabled=False)))
    await edited(world, Edit(before=changed))
    announced = await world.store.announced(scope=None, after=0, limit=10)
    keys = [f"camera.{verb}.tenant-1.site-1.cam-1" for verb in ("created", "updated", "deleted")]
    assert [each.routing_key for each in announced] == keys
    assert [json.loads(each.body)["enabled"] for each in announced] == [True, False, False]
    assert {each.exchange for each in announced} == {"control.topic"}
    assert len({each.event_id for each in announced}) == 3
    assert not any("rtsp" in each.body for each in announced)
    assert [each.position for each in announced] == sorted(each.position for each in announced)


async def test_announcements_are_read_from_a_position_and_by_tenant(world: World):
    camera = await added(world)
    await edited(world, Edit(before=camera))
    first, second = await world.store.announced(scope=TENANT, after=0, limit=10)
    assert await world.store.announced(scope=TENANT, after=first.position, limit=10) == [second]
    assert await world.store.announced(scope=TenantId("tenant-2"), after=0, limit=10) == []
    assert await world.store.newest() == second.position


async def test_what_was_published_is_not_pending_any_more(world: World):
    camera = await added(world)
    await edited(world, Edit(before=camera))
    first, second = await world.store.pending(limit=10)
    assert await world.store.pending(limit=1) == [first]
    await world.store.published([first.position])
    assert await world.store.pending(limit=10) == [second]


async def test_announcements_are_kept_for_a_week(world: World):
    camera = await added(world)
    await world.sleep(TOLD_FOR)
    await edited(world, Edit(before=camera))
    assert [json.loads(each.body)["type"] for each in await world.store.pending(limit=10)] == ["camera.deleted"]


async def test_a_site_is_not_removed_while_a_camera_is_added_to_it(world: World):
    await with_place(world)
    for number in range(10):
        site: Site | None = await world.store.find_site(SITE, scope=None)
        async with world.another() as other:
            add, remove = await asyncio.gather(
                world.store.edit([Edit(after=a_camera(f"cam-{number}"))], author=ADA),
                other.edit([Edit(before=site)], author=ADA),
            )
        assert isinstance(add, Edited) != isinstance(remove, Edited)
        if isinstance(remove, Edited):
            await with_place(world)
        else:
            await edited(world, Edit(before=await found(world, f"cam-{number}")))
