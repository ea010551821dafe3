"""Changes of cameras by long poll, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest

from streamward.drivers.memory import MemoryStore
from streamward.model.announcement import Announcement
from streamward.model.ids import TenantId
from streamward.model.register import TOLD_FOR
from streamward.runtime import virtual_time
from tests.support.app import Client, ControlUnderTest

PATH = "/v1/cameras/changes"
BODY = {"site_id": "site-a", "rtsp_url": "rtsp://ada:s3cret@192.0.2.7/1", "camera_uuid": "cam-1"}


class Hasty:
    """A store in which something is announced right after it was asked."""

    def __init__(self, memory: MemoryStore, meanwhile: list[Callable[[], Awaitable[None]]]) -> None:
        self._memory = memory
        self._meanwhile = meanwhile

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    async def announced(self, *, scope: TenantId | None, after: int, limit: int) -> list[Announcement]:
        found = await self._memory.announced(scope=scope, after=after, limit=limit)
        while self._meanwhile:
            await self._meanwhile.pop()()
        return found


async def cursor(client: Client) -> str:
    answer = await client.get(PATH, timeout_s=0)
    assert answer.json()["items"] == []
    found: str = answer.json()["cursor"]
    return found


async def add(control: ControlUnderTest, camera_id: str = "cam-1", *, site: str = "site-a") -> None:
    body = BODY | {"camera_uuid": camera_id, "site_id": site}
    assert (await control.operator().post("/v1/cameras", body)).status_code == 201


def told(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(each["type"], each["camera_uuid"]) for each in answer.json()["items"]]


async def test_changes_are_told_in_their_order_without_a_url() -> None:
    control = await ControlUnderTest().with_cameras()
    client = control.runner()
    after = await cursor(client)
    await add(control)
    await control.operator().patch("/v1/cameras/cam-1", {"enabled": False}, if_match="*")
    await control.operator().delete("/v1/cameras/cam-1", if_match="*")
    answer = await client.get(PATH, after=after)
    assert told(answer) == [("camera.created", "cam-1"), ("camera.updated", "cam-1"), ("camera.deleted", "cam-1")]
    changed = answer.json()["items"][1]
    assert changed.pop("event_id")
    assert changed == {
        "type": "camera.updated", "ts": "2026-01-01T12:00:00Z", "tenant_id": "t-01", "site_id": "site-a",
        "camera_uuid": "cam-1", "enabled": False, "do_not_process": False, "credential_version": 1, "revision": 2,
    }  # fmt: skip
    assert "192.0.2.7" not in answer.text
    assert told(await client.get(PATH, after=answer.json()["cursor"], timeout_s=0)) == []


async def test_changes_are_told_in_parts() -> None:
    control = await ControlUnderTest().with_cameras()
    client = control.runner()
    after, seen = await cursor(client), []
    for number in range(5):
        await add(control, f"cam-{number}")
    for _ in range(3):
        answer = await client.get(PATH, after=after, limit=2)
        after = answer.json()["cursor"]
        seen += [camera for _, camera in told(answer)]
    assert seen == [f"cam-{number}" for number in range(5)]


def test_a_wait_ends_with_a_change_of_a_camera_but_not_with_one_of_a_lease_or_of_others() -> None:
    async def scene() -> None:
        control = await ControlUnderTest().with_cameras("cam-0")
        await control.with_cameras(site="site-b", tenant="t-02")
        client = control.runner("r2", tenant="t-01")
        waiting = asyncio.create_task(client.get(PATH, after=await cursor(client), timeout_s=25))
        await asyncio.sleep(5)
        asked = {"runner_id": "r1", "camera_uuid": "cam-0", "ttl_seconds": 10}
        await control.runner().post("/v1/leases/camera/acquire", asked)
        await control.runner().post("/v1/leases/camera/release", {"runner_id": "r1", "camera_uuid": "cam-0"})
        await add(control, "cam-b", site="site-b")
        await asyncio.sleep(5)
        assert not waiting.done()
        await add(control)
        assert told(await asyncio.wait_for(waiting, 1)) == [("camera.created", "cam-1")]

    virtual_time.run(scene())


def test_a_wait_without_a_change_ends_with_its_time() -> None:
    async def scene() -> None:
        client = ControlUnderTest().runner()
        began = asyncio.get_running_loop().time()
        assert told(await client.get(PATH, timeout_s=21)) == []
        assert asyncio.get_running_loop().time() - began == pytest.approx(21, abs=0.1)

    virtual_time.run(scene())


def test_a_change_right_after_the_store_was_asked_is_told_at_once() -> None:
    async def scene() -> None:
        meanwhile: list[Callable[[], Awaitable[None]]] = []
        control = await ControlUnderTest(store=lambda memory: Hasty(memory, meanwhile)).with_cameras()
        client = control.runner()
        after = await cursor(client)
        meanwhile.append(lambda: add(control))
        answer = await asyncio.wait_for(client.get(PATH, after=after, timeout_s=25), 1)
        assert told(answer) == [("camera.created", "cam-1")]

    virtual_time.run(scene())


def test_a_stop_ends_every_wait() -> None:
    async def scene() -> None:
        control = ControlUnderTest()
        waiting = asyncio.create_task(control.runner().get(PATH, timeout_s=25))
        await asyncio.sleep(3)
        control.bell.close()
        assert told(await asyncio.wait_for(waiting, 1)) == []

    virtual_time.run(scene())


async def test_a_cursor_is_good_for_its_tenant_and_its_listing_only() -> None:
    control = await ControlUnderTest().with_cameras("cam-1", "cam-2")
    theirs = await cursor(control.runner(tenant="t-02"))
    listing = (await control.runner().get("/v1/cameras", limit=1)).json()["next_cursor"]
    for client, after in ((control.runner(), theirs), (control.runner(), listing), (control.runner(), "nonsense")):
        answer = await client.get(PATH, after=after, timeout_s=0)
        assert (answer.status_code, answer.json()["reason"]) == (400, "bad-cursor")


@pytest.mark.parametrize(("pauses", "status"), [([TOLD_FOR], 410), ([TOLD_FOR / 2] * 4, 200)])
async def test_a_cursor_is_too_old_when_changes_after_it_may_be_forgotten(pauses: list[float], status: int) -> None:
    control = await ControlUnderTest().with_cameras()
    await add(control)
    after = await cursor(control.runner())
    for pause in pauses:
        control.clock.advance(pause)
        client = control.runner()
        answer = await client.get(PATH, after=after, timeout_s=0)
        after = answer.json().get("cursor", after)
    assert answer.status_code == status
    if status == 410:
        assert answer.json()["reason"] == "changes-forgotten"
        after = await cursor(client)
    await add(control, "cam-2")
    assert told(await client.get(PATH, after=after, timeout_s=0)) == [("camera.created", "cam-2")]


@pytest.mark.parametrize("query", [{"timeout_s": "26"}, {"timeout_s": "nan"}, {"limit": "0"}, {"colour": "red"}])
async def test_a_wrong_question_is_422(query: dict[str, str]) -> None:
    assert (await ControlUnderTest().runner().get(PATH, **query)).status_code == 422
