"""Who has which camera, as people read it through the HTTP application."""

import pytest

from streamward.model.identity import Role
from tests.support.app import Client, ControlUnderTest

ACQUIRE = "/v1/leases/camera/acquire"


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1", "cam-2")
    await control.with_cameras("cam-3", site="site-b", tenant="t-02")
    runner = control.runner()
    await runner.post("/v1/runners/register", {"runner_id": "r1"})
    for camera in ("cam-1", "cam-3"):
        await runner.post(ACQUIRE, {"runner_id": "r1", "camera_uuid": camera, "ttl_seconds": 10})
    return control


@pytest.fixture
def viewer(control: ControlUnderTest) -> Client:
    return control.person(Role.VIEWER)


async def test_a_viewer_reads_who_has_what(control: ControlUnderTest, viewer: Client) -> None:
    control.clock.advance(3)
    page = (await viewer.get("/v1/leases")).json()
    assert page["server_time"] == "2026-01-01T12:00:03Z"
    assert page["items"][0] == {
        "camera_uuid": "cam-1",
        "tenant_id": "t-01",
        "site_id": "site-a",
        "state": "ACTIVE",
        "owner_id": "r1",
        "incarnation": "inc-1",
        "version": 1,
        "granted_at": "2026-01-01T12:00:00.000001Z",
        "expires_at": "2026-01-01T12:00:10Z",
        "ttl_ms": 10_000,
        "stream": None,
    }
    free = page["items"][1]
    assert (free["state"], free["owner_id"], free["version"], free["expires_at"]) == ("PENDING", None, 0, None)


async def test_a_viewer_reads_how_streams_are(control: ControlUnderTest, viewer: Client) -> None:
    at = "2026-01-01T12:00:00Z"
    report = {"camera_uuid": "cam-1", "runner_id": "r1", "state": "STREAMING", "ts": at, "version": 1, "fps": 6.0}
    await control.runner().post("/v1/streams/status/batch", {"items": [{**report, "last_frame_ts": at}]})
    seen = {
        "runner_id": "r1",
        "version": 1,
        "state": "STREAMING",
        "substate": None,
        "error_code": None,
        "ts": at,
        "fps": 6.0,
        "last_frame_ts": at,
    }
    listed = (await viewer.get("/v1/leases")).json()["items"]
    assert [each["stream"] for each in listed] == [seen, None, None]
    assert (await viewer.get("/v1/leases/cam-1")).json()["stream"] == seen


async def test_what_a_former_owner_reported_is_not_shown(control: ControlUnderTest, viewer: Client) -> None:
    at = "2026-01-01T12:00:00Z"
    report = {"camera_uuid": "cam-1", "runner_id": "r1", "state": "STREAMING", "ts": at, "version": 1, "fps": 6.0}
    await control.runner().post("/v1/streams/status/batch", {"items": [report]})
    for enabled in (False, True):
        await control.operator().patch("/v1/cameras/cam-1", {"enabled": enabled}, if_match="*")
        assert (await viewer.get("/v1/leases/cam-1")).json()["stream"] is None  # its grant is withdrawn
    await control.runner().post("/v1/leases/camera/release", {"runner_id": "r1", "camera_uuid": "cam-1", "version": 1})
    heir = control.runner("r2")
    await heir.post("/v1/runners/register", {"runner_id": "r2"})
    taken = await heir.post(ACQUIRE, {"runner_id": "r2", "camera_uuid": "cam-1", "ttl_seconds": 10})
    assert taken.status_code == 200, taken.text
    row = (await viewer.get("/v1/leases/cam-1")).json()
    assert (row["owner_id"], row["stream"]) == ("r2", None)
    assert (await viewer.get("/v1/leases")).json()["items"][0]["stream"] is None


async def test_leases_are_read_in_pages_and_by_filters(viewer: Client) -> None:
    first = (await viewer.get("/v1/leases", limit=2)).json()
    rest = (await viewer.get("/v1/leases", limit=2, cursor=first["next_cursor"])).json()
    assert [each["camera_uuid"] for each in first["items"] + rest["items"]] == ["cam-1", "cam-2", "cam-3"]
    assert rest["next_cursor"] is None
    for query, cameras in (
        ({"site_id": "site-b"}, ["cam-3"]),
        ({"runner_id": "r1"}, ["cam-1", "cam-3"]),
        ({"state": "PENDING"}, ["cam-2"]),
    ):
        assert [each["camera_uuid"] for each in (await viewer.get("/v1/leases", **query)).json()["items"]] == cameras
    assert (await viewer.get("/v1/leases", state="LOST")).status_code == 422
    assert (await viewer.get("/v1/leases", site_id="site-b", cursor=first["next_cursor"])).status_code == 400


async def test_a_lease_is_told_with_its_history(control: ControlUnderTest, viewer: Client) -> None:
    runner = control.runner()
    await runner.post("/v1/leases/camera/release", {"runner_id": "r1", "camera_uuid": "cam-1"})
    await control.pass_time(20)
    await runner.post(ACQUIRE, {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10})
    told = (await viewer.get("/v1/leases/cam-1")).json()
    assert (told["version"], told["owner_id"]) == (2, "r1")
    assert [(each["version"], each["owner_id"]) for each in told["grants"]] == [(2, "r1"), (1, "r1")]


async def test_leases_of_others_are_as_if_there_were_none(control: ControlUnderTest) -> None:
    foreign = control.person(Role.VIEWER, tenant="t-02")
    assert [each["camera_uuid"] for each in (await foreign.get("/v1/leases")).json()["items"]] == ["cam-3"]
    absent = await foreign.get("/v1/leases/nothing")
    assert (await foreign.get("/v1/leases/cam-1")).text == absent.text
    assert absent.status_code == 404
    assert (await control.runner().get("/v1/leases")).status_code == 403
