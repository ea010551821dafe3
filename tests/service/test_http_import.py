"""Importing cameras through the HTTP application: every line or none, and each told."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from streamward.drivers.memory import MemoryStore
from streamward.model.camera import Camera
from streamward.model.identity import Role
from streamward.model.ids import CameraId
from streamward.model.register import Edit, Edited, NotEdited, Repeated
from streamward.protocol.camera_lines import LARGEST_FILE
from streamward.protocol.codec import encode
from tests.support.app import VAULT, ControlUnderTest

PATH = "/v1/cameras/import"
NDJSON = "application/x-ndjson"
URL = "rtsp://192.0.2.7/1"
LOGIN = "rtsp://ada:s3cret@192.0.2.7/1"


class Beaten:
    """A store in which somebody else changes a camera right before each of the first edits."""

    def __init__(self, memory: MemoryStore, times: int) -> None:
        self._memory = memory
        self._times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    async def edit(self, edits: Sequence[Edit], **named: Any) -> Edited | NotEdited | Repeated:
        if self._times > 0:
            self._times -= 1
            camera = await self._memory.find_camera(CameraId("cam-1"), scope=None)
            assert camera is not None
            await self._memory.save_camera(camera)
        return await self._memory.edit(edits, **named)


async def control_with(*camera_ids: str, **fields: Any) -> ControlUnderTest:
    return await ControlUnderTest().with_cameras(*camera_ids, **fields)


async def send(
    control: ControlUnderTest, *lines: dict[str, Any], tenant: str | None = None, **query: Any
) -> httpx.Response:
    content = b"".join(encode(line) + b"\n" for line in lines)
    return await control.operator(tenant=tenant).upload(PATH, content, kind=NDJSON, **query)


async def kept(control: ControlUnderTest, camera_id: str = "cam-1") -> Camera | None:
    return await control.store.find_camera(CameraId(camera_id), scope=None)


def faults(answer: httpx.Response) -> list[tuple[int, str]]:
    assert answer.status_code in (409, 422), answer.text
    return [(each["line"], each["reason"]) for each in answer.json()["lines"]]


async def test_lines_create_and_change_cameras_in_one_edit() -> None:
    control = await control_with("cam-1", "cam-2")
    answer = await control.operator().upload(
        PATH,
        "camera_uuid,site_id,rtsp_url,enabled\r\n"
        "cam-1,,,false\r\n"
        "cam-2,site-a,,true\r\n"
        f"cam-3,site-a,{LOGIN},\r\n"
        f",site-a,{URL},true\r\n",
    )
    assert answer.status_code == 200
    told = answer.json()
    made = told["lines"][3].pop("camera_uuid")
    assert told == {
        "dry_run": False, "created": 2, "updated": 1, "unchanged": 1,
        "lines": [
            {"line": 2, "camera_uuid": "cam-1", "outcome": "updated"},
            {"line": 3, "camera_uuid": "cam-2", "outcome": "unchanged"},
            {"line": 4, "camera_uuid": "cam-3", "outcome": "created"},
            {"line": 5, "outcome": "created"},
        ],
    }  # fmt: skip
    found = [await kept(control, each) for each in ("cam-1", "cam-3", made)]
    assert [each is not None and each.enabled for each in found] == [False, True, True]
    assert len(control.database.audit) == len(control.database.outbox) == 3


async def test_one_bad_line_keeps_all_from_being_written() -> None:
    control = await control_with("cam-1")
    answer = await send(
        control,
        {"camera_uuid": "cam-1", "enabled": False},
        {"camera_uuid": "cam-2", "site_id": "site-a", "rtsp_url": URL},
        {"camera_uuid": "cam-3", "site_id": "site-x", "rtsp_url": URL},
        {"camera_uuid": "cam-4", "site_id": "site-a", "rtsp_url": "rtsp://ada:hunter2@127.0.0.1/1"},
        {"camera_uuid": "cam-5", "site_id": "site-a", "rtsp_url": "http://ada:hunter2@192.0.2.7/1"},
        {"camera_uuid": "cam-6"},
        {"camera_uuid": "cam-2", "site_id": "site-a", "rtsp_url": URL},
        {"camera_uuid": "cam 8"},
        {"camera_uuid": "export", "site_id": "site-a", "rtsp_url": URL},
        {"camera_uuid": "cam-9", "site_id": "site-a", "rtsp_url": "rtsp://***@192.0.2.7/1"},
        {"camera_uuid": "cam-1", "password": "hunter2"},
    )
    assert answer.status_code == 422
    assert answer.json()["reason"] == "import-refused"
    assert faults(answer) == [
        (3, "site-unknown"), (4, "address-loopback"), (5, "url-scheme"), (6, "incomplete"), (7, "camera-twice"),
        (8, "invalid-message"), (9, "id-reserved"), (10, "credential-needed"), (11, "camera-twice"),
    ]  # fmt: skip
    assert "hunter2" not in answer.text
    assert [each.camera_id for each in control.database.cameras.values()] == ["cam-1"]
    assert (control.database.audit, control.database.outbox) == ([], [])


@pytest.mark.parametrize("is_good", [True, False])
async def test_a_dry_run_tells_the_same_and_writes_nothing(is_good: bool) -> None:
    control = await control_with("cam-1")
    site = "site-a" if is_good else "site-x"
    lines: list[dict[str, Any]] = [{"camera_uuid": "cam-1", "enabled": False}, {"site_id": site, "rtsp_url": URL}]
    answer = await send(control, *lines, dry_run="true")
    if is_good:
        assert answer.json()["lines"][1] == {"line": 2, "camera_uuid": None, "outcome": "created"}
        assert answer.json()["dry_run"] is True
    else:
        assert faults(answer) == [(2, "site-unknown")]
    assert control.database.audit == []
    assert len(control.database.cameras) == 1


async def test_a_line_leaves_alone_what_it_does_not_name_and_keeps_a_masked_credential() -> None:
    control = await control_with()
    line = {"camera_uuid": "cam-1", "site_id": "site-a", "rtsp_url": LOGIN, "labels": {"a": "b"}, "detector": "yolo"}
    assert (await send(control, line)).json()["created"] == 1
    masked = {"camera_uuid": "cam-1", "rtsp_url": "rtsp://***@192.0.2.7/2", "detector": None}
    assert (await send(control, masked)).json()["updated"] == 1
    camera = await kept(control)
    assert camera is not None
    assert camera.sealed is not None
    assert (
        VAULT.open(camera.sealed, tenant_id=camera.tenant_id, camera_id=camera.camera_id).password.reveal() == "s3cret"
    )
    assert (camera.rtsp_url, camera.labels, camera.detector) == ("rtsp://192.0.2.7/2", (("a", "b"),), None)
    moved = {"camera_uuid": "cam-1", "rtsp_url": "rtsp://***@192.0.2.8/2"}
    assert faults(await send(control, moved)) == [(1, "credential-needed")]
    again = {"camera_uuid": "cam-1", "rtsp_url": "rtsp://ada:s3cret@192.0.2.7/2"}
    assert (await send(control, again)).json()["unchanged"] == 1
    fields = {"camera_uuid": "cam-1", "rtsp_url": "rtsp://192.0.2.7/2", "username": "ada", "password": "s3cret"}
    assert (await send(control, fields)).json()["unchanged"] == 1
    assert (await send(control, {"camera_uuid": "cam-1", "username": None})).json()["unchanged"] == 1
    assert (await send(control, {"camera_uuid": "cam-1", "rtsp_url": "rtsp://192.0.2.7/2"})).json()["updated"] == 1


async def test_a_tenant_imports_into_its_own_sites_and_ids_only() -> None:
    control = await control_with("cam-1")
    await control.with_cameras(site="site-b", tenant="t-02")
    uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    lines: list[dict[str, Any]] = [
        {"camera_uuid": "cam-1", "enabled": False},
        {"camera_uuid": "cam-1", "site_id": "site-b", "rtsp_url": URL},
        {"camera_uuid": "t-02-1", "site_id": "site-a", "rtsp_url": URL},
    ]
    found = [faults(await send(control, line, tenant="t-02")) for line in lines]
    assert found == [[(1, "incomplete")], [(1, "camera-uuid-generated")], [(1, "site-unknown")]]
    mine = {"camera_uuid": uuid, "site_id": "site-b", "rtsp_url": URL}
    absent = await send(control, mine, tenant="t-02")
    await control.with_cameras(uuid)
    foreign = await send(control, mine, tenant="t-02")
    assert (foreign.status_code, foreign.json()) == (absent.status_code, absent.json())
    assert faults(absent) == [(1, "camera-uuid-generated")]
    assert faults(await send(control, {"camera_uuid": "cam-1", "site_id": "site-b"})) == [(1, "site-unknown")]


@pytest.mark.parametrize(("times", "status", "enabled"), [(1, 200, False), (2, 409, True)])
async def test_a_change_in_between_is_judged_again_once(times: int, status: int, enabled: bool) -> None:
    control = await ControlUnderTest(store=lambda memory: Beaten(memory, times)).with_cameras("cam-1")
    answer = await send(control, {"camera_uuid": "cam-1", "enabled": False}, {"site_id": "site-a", "rtsp_url": URL})
    assert answer.status_code == status
    camera = await kept(control)
    assert camera is not None
    assert camera.enabled is enabled
    if status == 409:
        assert faults(answer) == [(1, "changed-meanwhile")]
        assert len(control.database.cameras) == 1


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"", "text/csv", 422),
        (b"", NDJSON, 200),
        (b"camera_uuid\n", "text/csv; charset=utf-8", 200),
        (b"{}", "application/json", 415),
        (b" " * (LARGEST_FILE + 1), "text/csv", 413),
        (b"\n" * LARGEST_FILE, NDJSON, 422),
        (b"\xff", "text/csv", 422),
        (b"camera_uuid,colour\n", "text/csv", 422),
    ],
)  # fmt: skip
async def test_a_file_that_is_none_is_refused(content: bytes, kind: str, status: int) -> None:
    assert (await ControlUnderTest().operator().upload(PATH, content, kind=kind)).status_code == status


async def test_a_file_must_say_what_it_is() -> None:
    answer = await ControlUnderTest().operator().call("POST", PATH, content=b"camera_uuid\n")
    assert (answer.status_code, answer.json()["reason"]) == (415, "wrong-media-type")


@pytest.mark.parametrize(("role", "status"), [(Role.VIEWER, 403), (Role.OPERATOR, 200), (Role.ADMIN, 200)])
async def test_operators_and_admins_import(role: Role, status: int) -> None:
    assert (await ControlUnderTest().person(role).upload(PATH, "camera_uuid\n")).status_code == status


async def test_the_words_of_the_api_are_no_ids() -> None:
    control = await control_with()
    body = {"site_id": "site-a", "rtsp_url": URL, "camera_uuid": "changes"}
    assert (await control.operator().post("/v1/cameras", body)).json()["reason"] == "id-reserved"


async def test_ten_thousand_lines_are_one_import() -> None:
    control = await control_with()
    rows = "".join(f"cam-{number},site-a,rtsp://192.0.2.7/{number}\n" for number in range(10_000))
    answer = await control.operator().upload(PATH, f"camera_uuid,site_id,rtsp_url\n{rows}")
    assert answer.json()["created"] == 10_000
    assert faults(await control.operator().upload(PATH, f"camera_uuid,site_id,rtsp_url\n{rows}x,,\n")) == [
        (10_002, "invalid-message")
    ]


NAMED = f"name,site_id,rtsp_url,enabled\r\ndoor,site-a,{LOGIN},true\r\ngate,site-a,{URL},false\r\n"


@pytest.mark.parametrize("tenant", ["t-01", None])
async def test_a_file_of_names_imported_again_changes_nothing(tenant: str | None) -> None:
    control = await control_with()
    operator = control.operator(tenant=tenant)
    first = (await operator.upload(PATH, NAMED)).json()
    assert (first["created"], first["updated"], first["unchanged"]) == (2, 0, 0)
    again = (await operator.upload(PATH, NAMED)).json()
    assert (again["created"], again["updated"], again["unchanged"]) == (0, 0, 2)
    assert [each["camera_uuid"] for each in again["lines"]] == [each["camera_uuid"] for each in first["lines"]]
    changed = (await operator.upload(PATH, NAMED.replace("false", "true"))).json()
    assert (changed["updated"], changed["unchanged"]) == (1, 1)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
async def test_an_export_imports_by_id_and_without_ids_by_name_into_another_installation(form: str) -> None:
    control = await control_with()
    operator = control.operator(tenant="t-01")
    await operator.upload(PATH, NAMED)
    exported = await operator.get("/v1/cameras/export", format=form)
    kind = exported.headers["content-type"].partition(";")[0]
    again = (await operator.upload(PATH, exported.content, kind=kind)).json()
    assert (again["unchanged"], again["created"]) == (2, 0)
    other = await control_with()
    refused = await other.operator(tenant="t-01").upload(PATH, exported.content, kind=kind)
    assert {reason for _, reason in faults(refused)} <= {"camera-uuid-generated", "credential-needed"}


async def test_one_camera_is_named_by_one_line_whether_by_its_id_or_its_name() -> None:
    control = await control_with("cam-1")
    await send(control, {"camera_uuid": "cam-1", "name": "door"})
    twice = [{"name": "door", "site_id": "site-a", "enabled": False}, {"camera_uuid": "cam-1", "enabled": True}]
    assert faults(await send(control, *twice)) == [(2, "camera-twice")]
    new = [{"name": "yard", "site_id": "site-a", "rtsp_url": URL}] * 2
    assert faults(await send(control, *new, dry_run=True)) == [(2, "camera-twice")]


async def test_a_name_that_another_camera_has_is_refused_before_anything_is_written() -> None:
    control = await control_with("cam-1", "cam-2")
    await send(control, {"camera_uuid": "cam-1", "name": "door"})
    renamed = [{"camera_uuid": "cam-2", "name": "door"}, {"camera_uuid": "cam-3", "name": "door", "site_id": "site-a"}]
    renamed[1]["rtsp_url"] = URL
    for line in renamed:
        assert faults(await send(control, line, dry_run=True)) == [(1, "camera-name-taken")]
    assert faults(await send(control, {"name": "nowhere"})) == [(1, "incomplete")]
    cleared = await send(control, {"camera_uuid": "cam-1", "name": None}, {"camera_uuid": "cam-2", "name": None})
    assert (cleared.json()["updated"], cleared.json()["unchanged"]) == (1, 1)
