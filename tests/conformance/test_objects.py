"""One suite for every object store: the memory twin, a folder and a real server of S3."""

import asyncio
import secrets
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from streamward.drivers.memory.objects import MemoryObjects
from streamward.drivers.objects import open_store
from streamward.model.ids import CameraId, TenantId
from streamward.model.objects import MOST_STORED, ObjectKey, ObjectStore, StoreAway
from streamward.protocol.shards import ObjectsAt
from tests.support.ports import free_port
from tests.support.seaweed import PATIENCE, SeaweedServer

Open = Callable[[], ObjectStore]  # another process's way to the same store


@pytest.fixture(scope="session", params=["memory", "folder", "s3"])
def make_store(request: pytest.FixtureRequest) -> Callable[[Path], Open]:
    """One of the drivers; a server lives as long as the session."""
    if request.param == "memory":
        return lambda _: _in_memory()
    if request.param == "folder":
        return lambda folder: lambda: open_store(ObjectsAt(url=(folder / "objects").as_uri()))
    server: SeaweedServer = request.getfixturevalue("seaweed")
    return lambda _: _in_a_bucket(server)


@pytest.fixture
def store(make_store: Callable[[Path], Open], tmp_path: Path) -> Open:
    return make_store(tmp_path)


def _in_memory() -> Open:
    memory = MemoryObjects()
    return lambda: memory


def _in_a_bucket(server: SeaweedServer) -> Open:
    place = server.place(f"{secrets.token_hex(4)}/a prefix")
    return lambda: open_store(place, answer_within=PATIENCE)


@pytest.fixture(params=["memory", "folder", "s3"])
def store_away(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "memory":
        memory = MemoryObjects()
        memory.is_away = True
        return memory
    if request.param == "folder":
        (tmp_path / "file").write_text("in the way")
        return open_store(ObjectsAt(url=(tmp_path / "file" / "objects").as_uri()))
    nobody = SeaweedServer.place(_Nowhere())  # type: ignore[arg-type]
    return open_store(nobody)


class _Nowhere:
    """Stands for a server that is not there."""

    def __init__(self) -> None:
        self.port = free_port()


def a_key(name: str = "cam-1.3.1.7", *, tenant: str = "t-01", camera: str = "cam-1") -> ObjectKey:
    return ObjectKey(tenant_id=TenantId(tenant), camera_id=CameraId(camera), day=date(2026, 11, 16), name=name)


@pytest.mark.parametrize("content", [b"", b"{}", bytes(range(256)) * (MOST_STORED // 256)], ids=["0", "2", "most"])
async def test_an_object_is_read_as_it_was_put_by_whoever_looks(store: Open, content: bytes) -> None:
    await store().put(a_key(), content)
    assert await store().get(a_key()) == content


async def test_what_was_never_put_is_not_there(store: Open) -> None:
    assert await store().get(a_key()) is None
    await store().put(a_key(), b"x")
    assert await store().get(a_key("cam-1.3.1.8")) is None


async def test_put_again_it_is_the_newest(store: Open) -> None:
    for content in (b"first", b"second, and longer", b"3"):
        await store().put(a_key(), content)
    assert await store().get(a_key()) == b"3"


async def test_tenants_and_cameras_have_objects_of_their_own(store: Open) -> None:
    keys = [a_key(tenant=tenant, camera=camera) for tenant in ("t-01", "t-02") for camera in ("cam-1", "cam-2")]
    for key in keys:
        await store().put(key, str(key).encode())
    assert [await store().get(key) for key in keys] == [str(key).encode() for key in keys]


async def test_all_objects_of_one_tenant_are_deleted_by_their_names_and_no_others(store: Open) -> None:
    ours = [a_key(f"event-{number}", camera=f"cam-{number % 2}") for number in range(10)]
    theirs = a_key(tenant="t-011")
    for key in (*ours, theirs):
        await store().put(key, str(key).encode())
    assert await store().names(TenantId("t-02"), limit=99) == []
    assert sorted(await store().names(TenantId("t-01"), limit=99)) == sorted(map(str, ours))
    found = await store().names(TenantId("t-01"), limit=6)
    assert len(found) == 6
    await store().delete(found)
    await store().delete([*await store().names(TenantId("t-01"), limit=99), str(a_key("never-put"))])
    assert await store().names(TenantId("t-01"), limit=99) == []
    assert [await store().get(key) for key in ours] == [None] * 10
    assert await store().get(theirs) == str(theirs).encode()
    await store().put(ours[0], b"again")
    assert await store().get(ours[0]) == b"again"


@pytest.mark.parametrize("name", ["a.b", "_-_", "0", "A" * 128, "a..b"])
async def test_every_name_that_a_key_may_have_can_be_put(store: Open, name: str) -> None:
    await store().put(a_key(name), name.encode())
    assert await store().get(a_key(name)) == name.encode()


async def test_many_are_put_at_once(store: Open) -> None:
    one = store()
    keys = [a_key(f"event-{number}") for number in range(20)]
    await asyncio.gather(*(one.put(key, str(key).encode()) for key in keys))
    assert await asyncio.gather(*map(one.get, keys)) == [str(key).encode() for key in keys]


async def test_readers_see_one_whole_object_while_it_is_replaced(store: Open) -> None:
    contents = [bytes([number]) * 300_000 for number in range(8)]
    await store().put(a_key(), contents[0])
    writing = asyncio.ensure_future(_put_all(store(), contents))
    while not writing.done():
        assert await store().get(a_key()) in contents
        await asyncio.sleep(0)  # memory never waits
    await writing


async def _put_all(store: ObjectStore, contents: list[bytes]) -> None:
    for content in contents:
        await store.put(a_key(), content)


async def test_a_place_has_a_url_that_ends_in_its_key(store: Open) -> None:
    assert store().url(a_key()).endswith("t-01/cam-1/2026-11-16/cam-1.3.1.7")


async def test_a_store_that_cannot_be_used_says_so(store_away: ObjectStore) -> None:
    asking = (
        store_away.put(a_key(), b"x"),
        store_away.get(a_key()),
        store_away.names(TenantId("t-01"), limit=9),
        store_away.delete([str(a_key())]),
    )
    for asked in asking:
        with pytest.raises(StoreAway, match=r"^the object store .* cannot be used: "):
            await asked
