"""The camera port, on every driver."""

from dataclasses import replace

from streamward.leases.store import CameraFilter
from streamward.model.ids import CameraId, SiteId, TenantId
from tests.support.builders import CAMERA, TENANT, a_camera, at
from tests.support.fleet import remove_camera, with_cameras
from tests.support.stores import World

OTHER = TenantId("tenant-2")


async def page(world: World, **wanted) -> list[str]:
    return [camera.camera_id for camera in await world.store.page(CameraFilter(**{"scope": None} | wanted))]


async def test_a_camera_is_kept_as_saved_and_dated_by_the_database(world: World):
    await world.advance(3)
    await world.store.save_camera(a_camera())
    expected = replace(a_camera(), updated_at=at(3), revision=1)
    assert await world.store.find_camera(CAMERA, scope=None) == expected
    await world.advance(1)
    changed = a_camera(enabled=False, site="site-2", tenant="tenant-2")
    await world.store.save_camera(changed)
    assert await world.store.find_camera(CAMERA, scope=None) == replace(changed, updated_at=at(4), revision=2)


async def test_pages_go_by_id_after_the_one_named(world: World):
    await with_cameras(world.store, "cam-b", "cam-a", "Cam-c", "cam_d")
    assert await page(world) == ["Cam-c", "cam-a", "cam-b", "cam_d"]
    assert await page(world, limit=2) == ["Cam-c", "cam-a"]
    assert await page(world, after=CameraId("cam-a"), limit=2) == ["cam-b", "cam_d"]
    assert await page(world, after=CameraId("cam_d")) == []


async def test_pages_can_be_filtered(world: World):
    await with_cameras(world.store, "cam-1")
    await with_cameras(world.store, "cam-2", site="site-2")
    await with_cameras(world.store, "cam-3", tenant=OTHER)
    await world.store.save_camera(a_camera("cam-4", enabled=False))
    assert await page(world, enabled=True) == ["cam-1", "cam-2", "cam-3"]
    assert await page(world, enabled=False) == ["cam-4"]
    assert await page(world, site_id=SiteId("site-2")) == ["cam-2"]
    assert await page(world, tenant_id=OTHER) == ["cam-3"]


async def test_a_tenant_sees_and_deletes_only_its_own_cameras(world: World):
    await with_cameras(world.store, "cam-1")
    await with_cameras(world.store, "cam-2", tenant=OTHER)
    theirs = CameraId("cam-2")
    assert await page(world, scope=TENANT) == ["cam-1"]
    assert await page(world, scope=TENANT, tenant_id=OTHER) == []
    assert await world.store.find_camera(theirs, scope=TENANT) is None
    assert await world.store.find_camera(theirs, scope=OTHER) is not None
    assert not await remove_camera(world.store, theirs, scope=TENANT)
    assert await remove_camera(world.store, theirs, scope=OTHER)


async def test_many_cameras_are_found_at_once_each_by_whose_it_is(world: World):
    await with_cameras(world.store, "cam-1", "cam-2")
    await with_cameras(world.store, "cam-3", tenant=OTHER)
    wanted = [CameraId(f"cam-{number}") for number in range(1, 1500)]
    found = {scope: await world.store.find_cameras(wanted, scope=scope) for scope in (None, TENANT, OTHER)}
    ids = {scope: sorted(camera.camera_id for camera in cameras) for scope, cameras in found.items()}
    assert ids == {None: ["cam-1", "cam-2", "cam-3"], TENANT: ["cam-1", "cam-2"], OTHER: ["cam-3"]}
    assert found[OTHER] == [await world.store.find_camera(CameraId("cam-3"), scope=None)]
    assert await world.store.find_cameras([], scope=None) == []


async def test_cameras_are_found_by_the_names_that_their_tenant_gave(world: World):
    for camera in (a_camera("cam-1"), a_camera("cam-2"), a_camera("cam-3", tenant=OTHER, site="site-2")):
        name = {"cam-1": "door", "cam-2": None, "cam-3": "door"}[camera.camera_id]
        await world.store.save_camera(replace(camera, name=name))
    assert await page(world, name="door") == ["cam-1", "cam-3"]
    assert await page(world, name="door", scope=OTHER) == ["cam-3"]
    assert await page(world, name="gate") == []
    names = ["door", *(f"gate-{number}" for number in range(1500))]
    found = await world.store.find_named_cameras(names, tenant_id=TENANT)
    assert found == [await world.store.find_camera(CAMERA, scope=None)]
    assert await world.store.find_named_cameras([], tenant_id=TENANT) == []


async def test_a_deleted_camera_is_gone(world: World):
    await with_cameras(world.store)
    assert await remove_camera(world.store, CAMERA, scope=None)
    assert not await remove_camera(world.store, CAMERA, scope=None)
    assert await world.store.find_camera(CAMERA, scope=None) is None
    assert await page(world) == []
