"""Creating and changing cameras, and their sealed credentials, on every driver."""

import asyncio
from dataclasses import replace

from streamward.leases.store import REMEMBERED_FOR, Claim, Granted, Once, OpenClaim, Repeated
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, TenantId
from streamward.model.vault import Sealed
from tests.support.builders import CAMERA, a_camera, an_owner, at
from tests.support.fleet import with_runners
from tests.support.stores import World

ONE, TWO = Sealed("v1.key-1.b25l"), Sealed("v1.key-2.dHdv")
ONCE = Once(subject="ada", key="key-1", digest="d1")
SEALED = replace(a_camera(), sealed=ONE, credential_version=1)


async def added(world: World, camera: Camera = SEALED) -> Camera:
    camera_added = await world.store.add_camera(camera)
    assert isinstance(camera_added, Camera)
    return camera_added


async def found(world: World, camera_id: str = CAMERA) -> Camera | None:
    return await world.store.find_camera(CameraId(camera_id), scope=None)


async def test_a_camera_is_added_once(world: World):
    camera = await added(world)
    assert camera == replace(SEALED, updated_at=at(0), revision=1)
    assert await world.store.add_camera(replace(a_camera(tenant="tenant-2"), rtsp_url="rtsp://x")) is None
    assert await found(world) == camera


async def test_a_camera_is_changed_in_the_revision_that_was_read(world: World):
    camera = await added(world)
    await world.advance(1)
    wanted = replace(camera, enabled=False, sealed=TWO, credential_version=2, rtsp_url="rtsp://192.0.2.9/")
    changed = await world.store.change_camera(wanted)
    assert changed == replace(wanted, revision=2, updated_at=at(1))
    assert await found(world) == changed


async def test_a_camera_that_somebody_changed_meanwhile_is_left_alone(world: World):
    camera = await added(world)
    first = await world.store.change_camera(replace(camera, enabled=False))
    assert await world.store.change_camera(replace(camera, do_not_process=True)) is None
    assert first is not None
    assert await world.store.change_camera(replace(first, tenant_id=TenantId("tenant-2"))) is None
    assert await world.store.change_camera(replace(first, updated_at=at(-1))) is None
    assert await world.store.change_camera(replace(first, camera_id=CameraId("cam-9"))) is None
    assert await found(world) == first


async def test_a_camera_made_anew_under_an_old_id_is_not_the_old_one(world: World):
    camera = await added(world)
    await world.store.remove_camera(CAMERA, scope=None)
    await world.advance(1)
    await added(world)
    assert await world.store.change_camera(replace(camera, enabled=False)) is None


async def test_a_credential_is_resealed_in_place(world: World):
    camera = await added(world)
    assert await world.store.reseal(CAMERA, old=ONE, new=TWO)
    assert await found(world) == replace(camera, sealed=TWO)
    assert not await world.store.reseal(CAMERA, old=ONE, new=TWO)
    assert not await world.store.reseal(CameraId("cam-9"), old=ONE, new=TWO)


async def test_an_edit_does_not_take_a_new_key_back(world: World):
    camera = await added(world)
    await world.store.reseal(CAMERA, old=ONE, new=TWO)
    await world.store.change_camera(replace(camera, enabled=False))
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


async def test_a_creation_that_is_repeated_creates_nothing(world: World):
    assert await world.store.add_camera(a_camera(), once=ONCE) == replace(a_camera(), updated_at=at(0), revision=1)
    repeated = Repeated(camera_id=CAMERA, made_at=at(0), digest="d1")
    assert await world.store.add_camera(a_camera("cam-2"), once=replace(ONCE, digest="d2")) == repeated
    assert await world.store.add_camera(a_camera(), once=ONCE) == repeated
    assert await found(world, "cam-2") is None
    assert isinstance(await world.store.add_camera(a_camera("cam-2"), once=replace(ONCE, subject="bob")), Camera)
    assert isinstance(await world.store.add_camera(a_camera("cam-3"), once=replace(ONCE, key="key-2")), Camera)


async def test_a_creation_that_failed_leaves_its_name_free(world: World):
    await added(world)
    assert await world.store.add_camera(a_camera(), once=ONCE) is None
    assert isinstance(await world.store.add_camera(a_camera("cam-2"), once=ONCE), Camera)


async def test_the_name_of_a_creation_is_forgotten_after_a_day(world: World):
    await world.store.add_camera(a_camera(), once=ONCE)
    await world.sleep(REMEMBERED_FOR - 1)
    assert isinstance(await world.store.add_camera(a_camera("cam-2"), once=ONCE), Repeated)
    await world.sleep(1)
    assert isinstance(await world.store.add_camera(a_camera("cam-2"), once=ONCE), Camera)


async def test_creations_of_one_name_at_once_create_one_camera(world: World):
    async with world.another() as other:
        stores = (world.store, other, world.store, other)
        made = await asyncio.gather(
            *(store.add_camera(a_camera(f"cam-{number}"), once=ONCE) for number, store in enumerate(stores))
        )
    assert sorted(type(each).__name__ for each in made) == ["Camera", "Repeated", "Repeated", "Repeated"]
    assert len({each.camera_id for each in made if each is not None}) == 1
