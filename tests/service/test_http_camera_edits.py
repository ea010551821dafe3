"""Cameras as operators create, change and remove them, through the HTTP application."""

from typing import Any

import pytest

from streamward.model.ids import CameraId, is_uuid
from streamward.model.register import REMEMBERED_FOR
from streamward.model.source_url import Credential
from tests.support.app import VAULT, Client, ControlUnderTest

PASSWORD = "c@n:a/r#y? 100%"
ESCAPED = "c%40n%3Aa%2Fr%23y%3F%20100%25"
URL = f"rtsp://ada:{ESCAPED}@192.0.2.7:554/live"
SHOWN = "rtsp://***@192.0.2.7:554/live"


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1")
    return await control.with_cameras("cam-2", site="site-b", tenant="t-02")


def a_camera(**fields: Any) -> dict[str, Any]:
    return {"site_id": "site-a", "camera_uuid": "t-01-new", "rtsp_url": URL} | fields


async def created(control: ControlUnderTest, **fields: Any) -> str:
    """Adds a camera; returns its ETag."""
    answer = await control.operator().post("/v1/cameras", a_camera(**fields))
    assert answer.status_code == 201, answer.text
    return answer.headers["etag"]


async def login(control: ControlUnderTest, camera_id: str = "t-01-new") -> tuple[str, str] | None:
    camera = await control.store.find_camera(CameraId(camera_id), scope=None)
    assert camera is not None
    if camera.sealed is None:
        return None
    opened: Credential = VAULT.open(camera.sealed, tenant_id=camera.tenant_id, camera_id=camera.camera_id)
    return opened.user.reveal(), opened.password.reveal()


async def change(client: Client, camera_id: str = "t-01-new", **fields: Any) -> Any:
    return await client.patch(f"/v1/cameras/{camera_id}", fields, if_match="*")


async def test_a_camera_is_created_and_its_password_is_not_told(control: ControlUnderTest) -> None:
    answer = await control.operator().post("/v1/cameras", a_camera(name="door"))
    assert answer.status_code == 201
    assert answer.json() == {
        "camera_uuid": "t-01-new",
        "tenant_id": "t-01",
        "site_id": "site-a",
        "name": "door",
        "rtsp_url": SHOWN,
        "enabled": True,
        "updated_at": "2026-01-01T12:00:00Z",
        "tls_fingerprint": None,
        "source_kind": "rtsp",
        "do_not_process": False,
        "detector": None,
        "max_fps": None,
        "decode": None,
        "detect_every_n_frames": None,
        "zones": [],
        "thresholds": {},
        "labels": {},
        "credential_version": 1,
    }
    assert await login(control) == ("ada", PASSWORD)
    read = await control.operator().get("/v1/cameras/t-01-new")
    assert (read.json(), read.headers["etag"]) == (answer.json(), answer.headers["etag"])


async def test_user_and_password_may_stand_in_fields_as_they_are(control: ControlUnderTest) -> None:
    await created(control, rtsp_url="rtsp://192.0.2.7:554/live", username="ada", password=PASSWORD)
    assert await login(control) == ("ada", PASSWORD)
    await created(control, rtsp_url="rtsp://cam.example", camera_uuid="open")
    assert await login(control, "open") is None


async def test_a_camera_without_an_id_gets_one(control: ControlUnderTest) -> None:
    answers = [await control.operator().post("/v1/cameras", a_camera(camera_uuid=None)) for _ in range(2)]
    assert len({answer.json()["camera_uuid"] for answer in answers}) == 2


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"rtsp_url": "http://192.0.2.7/"}, "url-scheme"),
        ({"rtsp_url": "rtsp://ada:p@ss@192.0.2.7/"}, "url-userinfo"),
        ({"rtsp_url": "rtsp://0x7f.1/"}, "url-address"),
        ({"rtsp_url": "rtsp://h:70000/"}, "url-port"),
        ({"rtsp_url": "rtsp://h/\r\nX: y"}, "url-character"),
        ({"rtsp_url": "file:///etc/passwd"}, "url-kind-not-allowed"),
        ({"rtsp_url": "rtsp://127.0.0.1/"}, "address-loopback"),
        ({"rtsp_url": "rtsp://169.254.169.254/"}, "address-metadata"),
        ({"rtsp_url": "rtsp://[fe80::1]/"}, "address-link-local"),
        ({"rtsp_url": "rtsp://h/", "username": "a", "password": "b\nc"}, "credential"),
        ({"username": "ada", "password": "x"}, "credential-ambiguous"),
        ({"rtsp_url": "rtsp://h/", "password": "x"}, "credential-ambiguous"),
        ({"rtsp_url": SHOWN}, "credential-needed"),
        ({"site_id": "site-9"}, "site-unknown"),
        ({"site_id": "site-b"}, "site-unknown"),
        ({"rtsp_url": 7}, "invalid-message"),
    ],
)
async def test_what_cannot_be_a_camera_is_refused_with_its_reason(
    control: ControlUnderTest, fields: dict[str, Any], reason: str
) -> None:
    body = a_camera(camera_uuid=None, name="new", **fields)
    answer = await control.operator(tenant="t-01").post("/v1/cameras", body)
    assert (answer.status_code, answer.json()["reason"]) == (422, reason)
    assert (await control.operator().get("/v1/cameras", name="new")).json()["items"] == []


async def test_a_taken_id_is_a_conflict(control: ControlUnderTest) -> None:
    answer = await control.operator().post("/v1/cameras", a_camera(camera_uuid="cam-1"))
    assert (answer.status_code, answer.json()["reason"]) == (409, "camera-exists")


@pytest.mark.parametrize("chosen", ["cam-1", "cam-2", "absent", "t-01-new", "0f8fad5b-d9cb-469f-a165-70867728950e"])
async def test_somebody_of_a_tenant_who_gives_an_id_learns_nothing_of_others(
    control: ControlUnderTest, chosen: str
) -> None:
    answer = await control.operator(tenant="t-01").post("/v1/cameras", a_camera(camera_uuid=chosen))
    assert (answer.status_code, answer.json()["reason"]) == (422, "camera-uuid-generated")
    assert chosen not in answer.text


async def test_a_name_is_unique_within_its_tenant(control: ControlUnderTest) -> None:
    ours, theirs = control.operator(tenant="t-01"), control.operator(tenant="t-02")
    door = a_camera(camera_uuid=None, name="door")
    first = await ours.post("/v1/cameras", door)
    again = await ours.post("/v1/cameras", door)
    other = await theirs.post("/v1/cameras", door | {"site_id": "site-b"})
    assert [each.status_code for each in (first, again, other)] == [201, 409, 201]
    assert again.json()["reason"] == "camera-name-taken"
    made = first.json()["camera_uuid"]
    assert is_uuid(made)
    listed = [await client.get("/v1/cameras", name="door") for client in (ours, theirs, control.operator())]
    assert [len(each.json()["items"]) for each in listed] == [1, 1, 2]
    assert listed[0].json()["items"][0]["camera_uuid"] == made


async def test_a_camera_is_renamed_to_a_name_that_is_free(control: ControlUnderTest) -> None:
    await created(control, name="door")
    await created(control, camera_uuid="t-01-other", name="gate")
    operator = control.operator(tenant="t-01")
    taken = await change(operator, name="gate")
    assert (taken.status_code, taken.json()["reason"]) == (409, "camera-name-taken")
    for name in ("door", "yard", None):
        assert (await change(operator, name=name)).json().get("name") == name
    assert (await change(operator, "t-01-other", name="door")).json()["name"] == "door"


async def test_a_creation_repeated_under_its_key_is_answered_as_before(control: ControlUnderTest) -> None:
    body, operator = a_camera(camera_uuid=None), control.operator()
    first = await operator.post("/v1/cameras", body, idempotency_key="k1")
    control.clock.advance(60)
    await change(operator, first.json()["camera_uuid"], enabled=False)
    again = await operator.post("/v1/cameras", body, idempotency_key="k1")
    assert (again.status_code, again.json(), again.headers["etag"]) == (201, first.json(), first.headers["etag"])
    assert len((await operator.get("/v1/cameras", site_id="site-a")).json()["items"]) == 2


async def test_a_key_used_for_something_else_is_a_conflict(control: ControlUnderTest) -> None:
    operator = control.operator()
    await operator.post("/v1/cameras", a_camera(), idempotency_key="k1")
    other = a_camera(rtsp_url=URL.replace("ada", "bob"))
    answer = await operator.post("/v1/cameras", other, idempotency_key="k1")
    assert (answer.status_code, answer.json()["reason"]) == (409, "idempotency-key-reused")
    elsewhere = await control.operator(tenant="t-01").post(
        "/v1/cameras", a_camera(camera_uuid=None), idempotency_key="k1"
    )
    assert elsewhere.status_code == 201
    control.clock.advance(REMEMBERED_FOR)
    late = control.operator()
    assert (await late.post("/v1/cameras", a_camera(camera_uuid="t-01-new-3"), idempotency_key="k1")).status_code == 201


@pytest.mark.parametrize("key", ["", "a b", "x" * 129])
async def test_a_key_that_cannot_be_one_is_refused(control: ControlUnderTest, key: str) -> None:
    answer = await control.operator().post("/v1/cameras", a_camera(), idempotency_key=key)
    assert (answer.status_code, answer.json()["reason"]) == (422, "malformed-idempotency-key")


async def test_an_edit_names_the_state_that_it_changes(control: ControlUnderTest) -> None:
    etag, operator = await created(control), control.operator()
    missing = await operator.patch("/v1/cameras/t-01-new", {"enabled": False})
    assert (missing.status_code, missing.json()["reason"]) == (428, "if-match-missing")
    done = await operator.patch("/v1/cameras/t-01-new", {"enabled": False}, if_match=etag)
    assert (done.status_code, done.json()["enabled"]) == (200, False)
    late = await operator.patch("/v1/cameras/t-01-new", {"enabled": True}, if_match=etag)
    assert (late.status_code, late.json()["reason"]) == (412, "changed-meanwhile")
    assert (await operator.patch("/v1/cameras/t-01-new", {}, if_match=done.headers["etag"])).status_code == 200


@pytest.mark.parametrize(
    ("fields", "expected", "version"),
    [
        ({"enabled": False}, ("ada", PASSWORD), 1),
        ({"rtsp_url": "rtsp://***@192.0.2.7:554/other"}, ("ada", PASSWORD), 1),
        ({"rtsp_url": URL}, ("ada", PASSWORD), 1),
        ({"rtsp_url": "rtsp://bob:x@192.0.2.8/"}, ("bob", "x"), 2),
        ({"username": "ada", "password": "t-01-new"}, ("ada", "t-01-new"), 2),
        ({"rtsp_url": "rtsp://192.0.2.8/"}, None, 2),
    ],
)
async def test_a_credential_is_kept_replaced_or_taken_away(
    control: ControlUnderTest, fields: dict[str, Any], expected: tuple[str, str] | None, version: int
) -> None:
    await created(control)
    answer = await change(control.operator(), **fields)
    assert (answer.status_code, answer.json()["credential_version"]) == (200, version)
    assert await login(control) == expected


@pytest.mark.parametrize(
    "url",
    ["rtsp://***@192.0.2.8:554/", "rtsp://***@192.0.2.7/", "rtsps://***@192.0.2.7:554/", "rtsp://***@evil.example/"],
)
async def test_a_password_cannot_be_sent_to_another_place(control: ControlUnderTest, url: str) -> None:
    await created(control)
    answer = await change(control.operator(), rtsp_url=url)
    assert (answer.status_code, answer.json()["reason"]) == (422, "credential-needed")
    assert await login(control) == ("ada", PASSWORD)


async def test_a_camera_from_before_the_checks_can_be_disabled_but_not_kept(control: ControlUnderTest) -> None:
    answer = await change(control.operator(), "cam-1", enabled=False)  # its address is loopback
    assert answer.json()["enabled"] is False
    refused = await change(control.operator(), "cam-1", username="ada")
    assert refused.json()["reason"] == "address-loopback"


async def test_a_camera_moves_within_its_tenant_to_where_it_is_allowed(control: ControlUnderTest) -> None:
    await created(control)
    await control.with_cameras(site="site-c")
    assert (await change(control.operator(), site_id="site-c")).json()["site_id"] == "site-c"
    assert (await change(control.operator(), site_id="site-b")).json()["reason"] == "site-unknown"
    assert await login(control) == ("ada", PASSWORD)


async def test_a_camera_is_removed(control: ControlUnderTest) -> None:
    await created(control)
    assert (await control.operator().delete("/v1/cameras/t-01-new", if_match="*")).json() == {"camera_uuid": "t-01-new"}
    assert (await control.operator().delete("/v1/cameras/t-01-new", if_match="*")).status_code == 404


@pytest.mark.parametrize("camera_id", ["cam-2", "cam-9"])
async def test_a_foreign_camera_answers_like_an_absent_one(control: ControlUnderTest, camera_id: str) -> None:
    operator = control.operator(tenant="t-01")
    answers = [
        await operator.get(f"/v1/cameras/{camera_id}"),
        await change(operator, camera_id, enabled=False),
        await operator.delete(f"/v1/cameras/{camera_id}", if_match="*"),
    ]
    assert {answer.text for answer in answers} == {(await operator.get("/v1/cameras/cam-0")).text}
    assert {answer.status_code for answer in answers} == {404}
