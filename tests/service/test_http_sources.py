"""Who is told a camera's user and password: the runner that holds a fresh lease, and nobody else."""

from typing import Any

import pytest

from streamward.drivers.vault import AesVault
from streamward.model.ids import CameraId, TenantId
from streamward.model.secret import Secret
from streamward.model.source_url import Credential
from tests.support.app import VAULT, Client, ControlUnderTest

PASSWORD = "c@n:a/r#y? 100%"
SOURCE = {
    "rtsp_url": "rtsp://192.0.2.7/1",
    "username": "ada",
    "password": PASSWORD,
    "credential_version": 3,
    "site_id": "site-a",
    "revision": 1,
}


async def with_login(vault: AesVault = VAULT) -> ControlUnderTest:
    login = Credential(user=Secret("ada"), password=Secret(PASSWORD))
    sealed = vault.seal(login, tenant_id=TenantId("t-01"), camera_id=CameraId("cam-1"))
    return await ControlUnderTest().with_cameras(
        "cam-1", rtsp_url="rtsp://192.0.2.7/1", sealed=sealed, credential_version=3
    )


@pytest.fixture
async def control() -> ControlUnderTest:
    return await with_login()


async def acquire(runner: Client, runner_id: str = "r1") -> Any:
    body = {"runner_id": runner_id, "camera_uuid": "cam-1", "ttl_seconds": 10}
    return await runner.post("/v1/leases/camera/acquire", body)


async def test_a_granted_lease_comes_with_the_source_in_clear(control: ControlUnderTest) -> None:
    assert (await acquire(control.runner())).json()["source"] == SOURCE
    assert (await acquire(control.runner())).json()["source"] == SOURCE
    refused = await acquire(control.runner("r2"), "r2")
    assert refused.status_code == 409
    assert PASSWORD not in refused.text


async def test_cameras_taken_many_at_a_time_come_with_their_sources(control: ControlUnderTest) -> None:
    runner = control.runner()
    await runner.post("/v1/runners/register", {"runner_id": "r1"})
    answer = await runner.post("/v1/leases/cameras/acquire", {"runner_id": "r1", "limit": 1})
    assert [lease["source"] for lease in answer.json()["leases"]] == [SOURCE]


async def test_a_renewal_tells_no_source(control: ControlUnderTest) -> None:
    runner = control.runner()
    await acquire(runner)
    body = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    assert "source" not in (await runner.post("/v1/leases/camera/renew", body)).json()


async def test_the_holder_of_a_fresh_lease_may_read_the_source(control: ControlUnderTest) -> None:
    await acquire(control.runner())
    assert (await control.runner().get("/v1/cameras/cam-1/source")).json() == SOURCE


async def test_nobody_else_may_and_cannot_tell_it_from_an_absent_camera(control: ControlUnderTest) -> None:
    absent = await control.runner().get("/v1/cameras/cam-9/source")
    unheld = await control.runner().get("/v1/cameras/cam-1/source")
    await acquire(control.runner())
    others = [
        await client.get("/v1/cameras/cam-1/source")
        for client in (
            control.runner("r2"),
            control.runner(incarnation="inc-2"),
            control.runner("r1", tenant="t-02"),
        )
    ]
    for answer in (unheld, *others):
        assert (answer.status_code, answer.text) == (404, absent.text)
    assert (await control.operator().get("/v1/cameras/cam-1/source")).status_code == 403


async def test_an_expired_or_released_lease_opens_nothing(control: ControlUnderTest) -> None:
    runner = control.runner()
    await acquire(runner)
    control.clock.advance(10)
    assert (await runner.get("/v1/cameras/cam-1/source")).status_code == 404
    await acquire(runner)
    assert (await runner.get("/v1/cameras/cam-1/source")).status_code == 200
    await runner.post("/v1/leases/camera/release", {"runner_id": "r1", "camera_uuid": "cam-1"})
    assert (await runner.get("/v1/cameras/cam-1/source")).status_code == 404


async def test_a_withdrawn_grant_opens_nothing_though_its_owner_has_not_released_it(control: ControlUnderTest) -> None:
    runner = control.runner()
    await acquire(runner)
    await control.operator().patch("/v1/cameras/cam-1", {"enabled": False}, if_match="*")
    assert (await runner.get("/v1/cameras/cam-1/source")).status_code == 404


async def test_a_credential_whose_key_is_lost_is_told_as_that_and_can_be_given_again() -> None:
    control = await with_login(AesVault(lambda: [b"x" * 32]))
    assert (await acquire(control.runner())).json()["source"] is None
    answer = await control.runner().get("/v1/cameras/cam-1/source")
    assert (answer.status_code, answer.json()["reason"]) == (409, "credential-locked")
    fields = {"username": "ada", "password": "new"}
    changed = await control.operator().patch("/v1/cameras/cam-1", fields, if_match="*")
    assert changed.json()["credential_version"] == 4
    assert (await control.runner().get("/v1/cameras/cam-1/source")).json()["password"] == "new"
