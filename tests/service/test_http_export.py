"""Exporting cameras through the HTTP application: whole, masked, and good for an import."""

import json
from typing import Any

import httpx
import pytest

from streamward.control.api.transfer import PAGE
from streamward.drivers.memory import MemoryStore
from streamward.leases.store import CameraFilter, StoreUnavailable
from streamward.model.camera import Camera
from streamward.model.identity import Role
from tests.support.app import ControlUnderTest

PATH = "/v1/cameras/export"
HEADER = (
    "camera_uuid,name,site_id,rtsp_url,tls_fingerprint,enabled,do_not_process,detector,max_fps,decode,"
    "detect_every_n_frames,zones,thresholds,labels\r\n"
)
CREATED = {
    "site_id": "site-a", "camera_uuid": "-cam", "rtsp_url": "rtsp://ada:s3cret@192.0.2.7/a,b", "detector": "-x",
    "tls_fingerprint": "ab" * 32, "max_fps": 12.5, "decode": "keyframes", "do_not_process": True,
    "detect_every_n_frames": 3, "thresholds": {"=1;2": 0.3, "*": 1 / 3},
    "zones": [{"name": "-door", "points": [[0, 0.5], [0.1, 0.5], [1 / 3, 1]], "leaves_out": False, "dwell_s": 2.5}],
    "labels": {"-floor": "=2; 50%", "empty": "", "quote": '"', "who": "Änne "},
}  # fmt: skip


class Failing:
    """A store that goes away after the first page."""

    def __init__(self, memory: MemoryStore) -> None:
        self._memory = memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self._memory, name)

    async def page(self, wanted: CameraFilter) -> list[Camera]:
        if wanted.after is not None:
            raise StoreUnavailable
        return await self._memory.page(wanted)


async def with_some(control: ControlUnderTest) -> ControlUnderTest:
    await control.with_cameras("cam-1", "cam-2")
    await control.with_cameras("cam-3", site="site-b", tenant="t-02", enabled=False)
    assert (await control.operator().post("/v1/cameras", CREATED)).status_code == 201
    return control


def ids(answer: httpx.Response) -> list[str]:
    return [json.loads(line)["camera_uuid"] for line in answer.text.splitlines()]


@pytest.mark.parametrize(("form", "kind"), [("csv", "text/csv"), ("jsonl", "application/x-ndjson")])
async def test_what_was_exported_is_imported_again_without_a_change(form: str, kind: str) -> None:
    control = await with_some(ControlUnderTest())
    answer = await control.person(Role.VIEWER).get(PATH, format=form)
    assert answer.headers["content-type"].partition(";")[0] == kind
    assert "s3cret" not in answer.text
    assert "rtsp://***@192.0.2.7/a,b" in answer.text
    told = (await control.operator().upload("/v1/cameras/import", answer.content, kind=kind)).json()
    assert (told["created"], told["updated"], told["unchanged"]) == (0, 0, 4)


async def test_a_csv_has_a_header_and_a_line_for_each_camera() -> None:
    control = await ControlUnderTest().with_cameras("cam-1", labels=(("a", "b"), ("c", "d")))
    answer = await control.person(Role.VIEWER).get(PATH)
    assert answer.text == f"{HEADER}cam-1,,site-a,rtsp://127.0.0.1:8554/cam-1,,true,false,,,,,,,a=b;c=d\r\n"
    nothing = await control.person(Role.VIEWER, tenant="t-02").get(PATH)
    assert nothing.text == HEADER


async def test_an_export_can_be_filtered_and_never_leaves_the_tenant() -> None:
    control = await with_some(ControlUnderTest())
    client = control.person(Role.VIEWER)
    assert ids(await client.get(PATH, format="jsonl", site_id="site-b")) == ["cam-3"]
    assert ids(await client.get(PATH, format="jsonl", tenant_id="t-01")) == ["-cam", "cam-1", "cam-2"]
    theirs = control.person(Role.VIEWER, tenant="t-02")
    assert ids(await theirs.get(PATH, format="jsonl")) == ["cam-3"]
    assert ids(await theirs.get(PATH, format="jsonl", tenant_id="t-01")) == []


@pytest.mark.parametrize("count", [PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])
async def test_pages_make_one_file(count: int) -> None:
    names = [f"cam-{number:04}" for number in range(count)]
    control = await ControlUnderTest().with_cameras(*names)
    assert ids(await control.person(Role.VIEWER).get(PATH, format="jsonl")) == names


async def test_a_store_that_goes_away_cuts_the_file_short() -> None:
    names = [f"cam-{number:04}" for number in range(PAGE + 1)]
    control = await ControlUnderTest(store=Failing).with_cameras(*names)
    with pytest.raises(AssertionError):  # the transport's own: the answer has no end
        await control.person(Role.VIEWER).get(PATH, format="jsonl")


@pytest.mark.parametrize("query", [{"format": "xml"}, {"site_id": "a b"}, {"colour": "red"}])
async def test_a_wrong_question_is_422(query: dict[str, str]) -> None:
    assert (await ControlUnderTest().operator().get(PATH, **query)).status_code == 422
