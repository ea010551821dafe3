"""Waiting for a change through the HTTP application, on virtual time."""

import asyncio

import pytest

from streamward.runtime import virtual_time
from tests.support.app import ControlUnderTest


def test_a_wait_ends_when_a_lease_is_given_back() -> None:
    async def scene() -> None:
        control = await ControlUnderTest().with_cameras("cam-1")
        runner = control.runner()
        await runner.post("/v1/leases/camera/acquire", {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10})
        waiting = asyncio.create_task(control.runner("r2").get("/v1/wait", after=control.bell.cursor, timeout_s=25))
        await asyncio.sleep(5)
        assert not waiting.done()
        await runner.post("/v1/leases/camera/release", {"runner_id": "r1", "camera_uuid": "cam-1"})
        assert (await waiting).json() == {"cursor": control.bell.cursor, "changed": True}

    virtual_time.run(scene())


def test_a_wait_without_a_change_ends_with_its_time() -> None:
    async def scene() -> None:
        control = ControlUnderTest()
        began = asyncio.get_running_loop().time()
        answer = await control.runner().get("/v1/wait", after=control.bell.cursor, timeout_s=20)
        assert answer.json() == {"cursor": "bell-0", "changed": False}
        assert asyncio.get_running_loop().time() - began == pytest.approx(20)

    virtual_time.run(scene())


async def test_a_change_between_two_waits_is_not_missed() -> None:
    control = ControlUnderTest()
    cursor = (await control.runner().get("/v1/wait", timeout_s=0)).json()["cursor"]
    await control.with_cameras("cam-1")
    answer = await control.runner().get("/v1/wait", after=cursor, timeout_s=25)
    assert answer.json()["changed"] is True


async def test_a_cursor_of_another_control_plane_answers_at_once() -> None:
    answer = await ControlUnderTest().runner().get("/v1/wait", after="other-7", timeout_s=25)
    assert answer.json() == {"cursor": "bell-0", "changed": True}


@pytest.mark.parametrize("seconds", ["26", "-1", "nan", "inf", "soon", "1e99"])
async def test_a_wrong_time_is_422(seconds: str) -> None:
    assert (await ControlUnderTest().runner().get("/v1/wait", timeout_s=seconds)).status_code == 422


async def test_many_waiters_all_wake() -> None:
    control = ControlUnderTest()
    client = control.runner()
    waiting = [asyncio.create_task(client.get("/v1/wait", after="bell-0", timeout_s=25)) for _ in range(200)]
    await asyncio.sleep(0)
    await control.with_cameras("cam-1")
    answers = await asyncio.gather(*waiting)
    assert all(answer.json()["changed"] for answer in answers)
