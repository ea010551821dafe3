"""S0-066 and S0-067, and why a camera does not run, through the HTTP application."""

import pytest

from tests.support.app import Client, ControlUnderTest
from tests.support.fleet import remove_camera


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1", "cam-2")
    await control.with_cameras("cam-3", site="site-b", tenant="t-02")
    return await control.with_cameras("cam-4", site="site-b", tenant="t-02", enabled=False)


async def listed(client: Client, **query: object) -> list[str]:
    answer = await client.get("/v1/cameras", **query)
    assert answer.status_code == 200
    return [camera["camera_uuid"] for camera in answer.json()["items"]]


async def test_a_camera_has_exactly_the_fields_of_s0(control: ControlUnderTest) -> None:
    answer = await control.runner().get("/v1/cameras", limit=1)
    assert answer.json()["items"] == [
        {
            "camera_uuid": "cam-1",
            "tenant_id": "t-01",
            "site_id": "site-a",
            "rtsp_url": "rtsp://127.0.0.1:8554/cam-1",
            "enabled": True,
            "updated_at": "2026-01-01T12:00:00Z",
        }
    ]


async def test_a_camera_with_a_name_has_it_beside_the_fields_of_s0(control: ControlUnderTest) -> None:
    await control.with_cameras("cam-0", name="door")
    listed = (await control.runner().get("/v1/cameras", name="door")).json()["items"]
    assert [(each["camera_uuid"], each["name"]) for each in listed] == [("cam-0", "door")]


async def test_a_listing_shows_no_credentials(control: ControlUnderTest) -> None:
    await control.with_cameras("cam-0", rtsp_url="rtsp://admin:p%40ss@192.0.2.7/1")
    answer = await control.runner().get("/v1/cameras", limit=1)
    assert answer.json()["items"][0]["rtsp_url"] == "rtsp://***@192.0.2.7/1"
    assert "p%40ss" not in answer.text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({}, ["cam-1", "cam-2", "cam-3", "cam-4"]),
        ({"enabled": "true"}, ["cam-1", "cam-2", "cam-3"]),
        ({"enabled": "false"}, ["cam-4"]),
        ({"tenant_id": "t-02"}, ["cam-3", "cam-4"]),
        ({"site_id": "site-a"}, ["cam-1", "cam-2"]),
        ({"enabled": "true", "tenant_id": "", "site_id": "", "limit": "", "cursor": ""}, ["cam-1", "cam-2", "cam-3"]),
        ({"tenant_id": "t-09"}, []),
    ],
)
async def test_filters_narrow_a_listing(control: ControlUnderTest, query: dict[str, str], expected: list[str]) -> None:
    assert await listed(control.runner(), **query) == expected


async def test_a_tenants_token_sees_that_tenant_only(control: ControlUnderTest) -> None:
    runner = control.runner(tenant="t-02")
    assert await listed(runner) == ["cam-3", "cam-4"]
    assert await listed(runner, tenant_id="t-01") == []
    assert (await runner.get("/v1/cameras/cam-1/why")).status_code == 404


async def test_the_last_page_has_no_cursor(control: ControlUnderTest) -> None:
    assert (await control.runner().get("/v1/cameras", limit=4)).json()["next_cursor"] is None
    assert (await control.runner().get("/v1/cameras", limit=3)).json()["next_cursor"] is not None


async def test_paging_while_cameras_come_and_go_shows_each_that_stayed_once(control: ControlUnderTest) -> None:
    await control.with_cameras(*(f"many-{n:03}" for n in range(0, 500, 2)), site="site-m")
    seen: list[str] = []
    cursor, added = "", iter(range(1, 500, 20))
    while cursor is not None:
        page = (await control.runner().get("/v1/cameras", site_id="site-m", limit=7, cursor=cursor)).json()
        seen += [camera["camera_uuid"] for camera in page["items"]]
        cursor = page["next_cursor"]
        if (n := next(added, None)) is not None:
            await control.with_cameras(f"many-{n:03}", site="site-m")
            await remove_camera(control.store, seen[-1])
    assert len(seen) == len(set(seen))
    assert {f"many-{n:03}" for n in range(0, 500, 2)} <= set(seen)
    assert seen == sorted(seen)


@pytest.mark.parametrize("edit", ["flip", "cut", "longer", "other-filter", "other-tenant", "nonsense", "not-ascii"])
async def test_an_edited_or_foreign_cursor_is_refused(control: ControlUnderTest, edit: str) -> None:
    cursor = (await control.runner().get("/v1/cameras", limit=1)).json()["next_cursor"]
    edited = {
        "flip": cursor[:-1] + chr(ord(cursor[-1]) ^ 1),
        "cut": cursor[:-4],
        "longer": cursor + "AAAA",
        "nonsense": "cam-1",
        "not-ascii": "gärten",
    }.get(edit, cursor)
    client = control.runner(tenant="t-01") if edit == "other-tenant" else control.runner()
    more = {"enabled": "true"} if edit == "other-filter" else {}
    answer = await client.get("/v1/cameras", limit=1, cursor=edited, **more)
    assert (answer.status_code, answer.json()["reason"]) == (400, "bad-cursor")


async def test_a_cursor_is_good_at_every_control_plane_with_the_same_key(control: ControlUnderTest) -> None:
    other = await ControlUnderTest().with_cameras("cam-1", "cam-2", "cam-3")
    cursor = (await control.runner().get("/v1/cameras", limit=1)).json()["next_cursor"]
    assert await listed(other.runner(), limit=1, cursor=cursor) == ["cam-2"]


@pytest.mark.parametrize(
    "query",
    [{"limit": "0"}, {"limit": "1001"}, {"limit": "x"}, {"enabled": "maybe"}, {"colour": "red"}, {"site_id": "a.b"}],
)
async def test_a_wrong_query_is_422(control: ControlUnderTest, query: dict[str, str]) -> None:
    assert (await control.runner().get("/v1/cameras", **query)).status_code == 422


async def test_why_tells_the_reasons_and_the_owner(control: ControlUnderTest) -> None:
    await control.runner().post(
        "/v1/leases/camera/acquire", {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    )
    answer = await control.operator().get("/v1/cameras/cam-1/why")
    assert answer.status_code == 200
    assert answer.json() == {
        "camera_uuid": "cam-1",
        "running": False,
        "reasons": [{"code": "no-report", "detail": "its owner has not reported its stream lately"}],
        "owner_id": "r1",
        "version": 1,
        "expires_at": "2026-01-01T12:00:10Z",
    }


async def test_why_of_a_camera_without_an_owner(control: ControlUnderTest) -> None:
    answer = (await control.operator().get("/v1/cameras/cam-1/why")).json()
    assert (answer["owner_id"], answer["version"], answer["expires_at"]) == (None, None, None)
    assert [reason["code"] for reason in answer["reasons"]] == ["no-runner"]


async def test_why_says_running_once_the_owner_reports_it(control: ControlUnderTest) -> None:
    runner = control.runner()
    await runner.post("/v1/leases/camera/acquire", {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10})
    report = {"camera_uuid": "cam-1", "runner_id": "r1", "state": "STREAMING", "ts": "2026-01-01T12:00:00Z"}
    await runner.post("/v1/streams/status/batch", {"items": [report]})
    answer = (await runner.get("/v1/cameras/cam-1/why")).json()
    assert (answer["running"], answer["reasons"][0]["code"]) == (True, "running")


async def test_why_of_an_unknown_camera_is_404(control: ControlUnderTest) -> None:
    assert (await control.operator().get("/v1/cameras/cam-9/why")).status_code == 404
