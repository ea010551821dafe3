"""Credentials that are stored already: sealed when they are found in a URL, and sealed anew when keys change."""

import secrets
from dataclasses import replace
from pathlib import Path

import pytest

from streamward.control.courier import SourceCourier
from streamward.control.credentials import OldUrlUnreadable, Resealed, reseal, seal_urls
from streamward.drivers.memory import MemoryDatabase, MemoryStore
from streamward.drivers.sql import SqlStore
from streamward.drivers.vault import AesVault
from streamward.leases import facts
from streamward.model.ids import CameraId, TenantId
from streamward.model.source_url import Credential
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal
from tests.support.builders import CAMERA, a_camera
from tests.support.clocks import ManualClock

ONE, TWO = secrets.token_bytes(32), secrets.token_bytes(32)
OLD_URL = "rtsp://ada:c@n:a%2Fr%23y%3F%20100%25@192.0.2.7/1"
PASSWORD = "c@n:a/r#y? 100%"


@pytest.fixture
def store() -> MemoryStore:
    clock = ManualClock()
    return MemoryStore(MemoryDatabase(clock=clock), clock=clock, bell=Bell())


def a_vault(*keys: bytes) -> AesVault:
    return AesVault(lambda: keys or (ONE,))


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


async def login(store: MemoryStore, vault: AesVault, camera_id: str = CAMERA) -> Credential:
    camera = await store.find_camera(CameraId(camera_id), scope=None)
    assert camera is not None
    assert camera.sealed is not None
    return vault.open(camera.sealed, tenant_id=camera.tenant_id, camera_id=camera.camera_id)


async def test_a_credential_in_an_old_url_is_sealed_once(store: MemoryStore) -> None:
    await store.save_camera(replace(a_camera(), rtsp_url=OLD_URL))
    await store.save_camera(a_camera("cam-2"))
    assert await seal_urls(store, a_vault()) == 1
    assert await seal_urls(store, a_vault()) == 0
    camera = await store.find_camera(CAMERA, scope=None)
    assert camera is not None
    assert (camera.rtsp_url, camera.credential_version) == ("rtsp://192.0.2.7/1", 1)
    opened = await login(store, a_vault())
    assert (opened.user.reveal(), opened.password.reveal()) == ("ada", PASSWORD)


async def test_more_cameras_than_fit_on_a_page_are_all_seen(store: MemoryStore) -> None:
    for number in range(1001):
        await store.save_camera(replace(a_camera(f"cam-{number:04}"), rtsp_url=OLD_URL))
    assert await seal_urls(store, a_vault()) == 1001
    assert await reseal(store, a_vault(TWO, ONE)) == Resealed(sealed=1001, unreadable=())


async def test_a_credential_that_cannot_be_kept_is_told_by_its_camera(store: MemoryStore) -> None:
    await store.save_camera(replace(a_camera(), rtsp_url="rtsp://ada:hunter2%0d@192.0.2.7/1"))
    with pytest.raises(OldUrlUnreadable, match="the URL of camera cam-1 cannot be kept") as refused:
        await seal_urls(store, a_vault())
    assert "hunter2" not in str(refused.value)


async def test_nothing_of_an_old_url_is_left_in_a_sqlite_file(tmp_path: Path) -> None:
    store = SqlStore(f"sqlite:///{tmp_path}/test.db", clock=ManualClock(), bell=Bell())
    await store.open()
    await store.save_camera(replace(a_camera(), rtsp_url="rtsp://ada:hunter2@192.0.2.7/1"))
    assert await seal_urls(store, a_vault()) == 1
    await store.close()
    left = all_bytes(tmp_path)
    assert b"192.0.2.7" in left
    assert b"hunter2" not in left


async def test_keys_are_changed_without_touching_what_they_seal(store: MemoryStore) -> None:
    await store.save_camera(replace(a_camera(), rtsp_url=OLD_URL))
    await seal_urls(store, a_vault(ONE))
    before, camera = await login(store, a_vault(ONE)), await store.find_camera(CAMERA, scope=None)
    assert await reseal(store, a_vault(TWO, ONE)) == Resealed(sealed=1, unreadable=())
    assert await reseal(store, a_vault(TWO, ONE)) == Resealed(sealed=0, unreadable=())
    assert await login(store, a_vault(TWO)) == before
    after = await store.find_camera(CAMERA, scope=None)
    assert camera is not None
    assert after == replace(camera, sealed=after.sealed if after else None)


async def test_a_credential_that_no_key_opens_is_named_and_left(store: MemoryStore) -> None:
    await store.save_camera(replace(a_camera(), rtsp_url=OLD_URL))
    await store.save_camera(replace(a_camera("cam-2"), rtsp_url=OLD_URL))
    await seal_urls(store, a_vault(ONE))
    copied = await store.find_camera(CAMERA, scope=None)
    assert copied is not None
    await store.save_camera(replace(a_camera("cam-2"), sealed=copied.sealed))
    assert await reseal(store, a_vault(TWO, ONE)) == Resealed(sealed=1, unreadable=(CameraId("cam-2"),))


async def test_a_credential_copied_from_another_tenant_is_not_delivered(store: MemoryStore) -> None:
    await store.save_camera(replace(a_camera(), rtsp_url=OLD_URL))
    await seal_urls(store, a_vault())
    camera = await store.find_camera(CAMERA, scope=None)
    assert camera is not None
    told: list[object] = []
    journal = Journal()
    journal.subscribe(told.append)
    courier = SourceCourier(a_vault(), journal)
    source = courier.source(camera)
    assert source is not None
    assert PASSWORD not in repr(source)
    assert courier.source(replace(camera, tenant_id=TenantId("tenant-2"))) is None
    assert [type(each) for each in told] == [facts.CredentialLocked]
