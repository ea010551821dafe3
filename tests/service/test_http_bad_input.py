"""Whatever is sent, the answer is a clear 4xx, nothing changes and nothing internal is shown."""

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Any

import pytest

from streamward.protocol.codec import MAX_BODY
from tests.support.app import ControlUnderTest
from tests.support.operations import DOCUMENT, Names

ACQUIRE = "/v1/leases/camera/acquire"
GOOD = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}

BAD_IDS = ["", "a#b", "a*", "a.b", "a:b", "a\n", "a b", "ä", "x" * 65, "x" * 900_000, "a/b"]
BAD_IDS.append("A0000000-0000-0000-0000-000000000000")  # a UUID in upper case would be a second name of one camera


@pytest.fixture
async def control() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras("cam-1")


def rows(control: ControlUnderTest) -> tuple[Any, ...]:
    """All that a call could have changed."""
    database = control.database
    return (dict(database.leases), dict(database.runners), dict(database.grants), control.bell.cursor)


async def refused(control: ControlUnderTest, body: bytes, *, path: str = ACQUIRE, **headers: str) -> tuple[int, str]:
    """Sends a body, sees that it changed nothing, and returns how it was refused."""
    before = rows(control)
    sent = {"Content-Type": "application/json", **headers}
    answer = await control.runner().call("POST", path, content=body, headers=sent)
    assert rows(control) == before
    return answer.status_code, answer.json()["reason"]


@pytest.mark.parametrize("ttl", ["0", "-1", "1000000000", '"10"', "null", "true", "[]", "1e400", "-0.0", "1.9", "601"])
async def test_a_ttl_out_of_bounds_is_422(control: ControlUnderTest, ttl: str) -> None:
    body = f'{{"runner_id":"r1","camera_uuid":"cam-1","ttl_seconds":{ttl}}}'
    assert await refused(control, body.encode()) == (422, "invalid-message")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "0x10", "010", "1_0", "+1", ".5", "1e"])
async def test_a_number_that_json_does_not_know_is_400(control: ControlUnderTest, number: str) -> None:
    body = f'{{"runner_id":"r1","camera_uuid":"cam-1","ttl_seconds":{number}}}'
    assert await refused(control, body.encode()) == (400, "malformed-json")


@pytest.mark.parametrize("field", ["runner_id", "camera_uuid", "incarnation"])
@pytest.mark.parametrize("value", BAD_IDS, ids=lambda value: repr(value[:12]))
async def test_an_id_out_of_its_alphabet_is_422(control: ControlUnderTest, field: str, value: str) -> None:
    before = rows(control)
    answer = await control.runner().post(ACQUIRE, GOOD | {field: value})
    assert (answer.status_code, answer.json()["reason"]) == (422, "invalid-message")
    assert field in answer.json()["detail"]
    assert rows(control) == before


@pytest.mark.parametrize("wrong", [{"colour": "red"}, {"runner_id": None}, {"version": 1}, {"camera_uuid": ["cam-1"]}])
async def test_unknown_fields_and_wrong_types_are_422(control: ControlUnderTest, wrong: dict[str, Any]) -> None:
    before = rows(control)
    assert (await control.runner().post(ACQUIRE, GOOD | wrong)).status_code == 422
    assert rows(control) == before


async def test_a_missing_field_is_422(control: ControlUnderTest) -> None:
    answer = await control.runner().post(ACQUIRE, {"runner_id": "r1"})
    assert (answer.status_code, answer.json()["detail"]) == (422, "Object missing required field `camera_uuid`")


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"runner_id":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"x":' * 100_000 + b"1" + b"}" * 100_000,
        b'{"cameras":[{"camera_uuid":"c","version":1,"made_until":' + b"[" * 100_000,
    ],
)
@pytest.mark.parametrize("path", [ACQUIRE, "/v1/leases/cameras/release"])
async def test_json_nested_without_end_is_refused(control: ControlUnderTest, body: bytes, path: str) -> None:
    status, _ = await refused(control, body, path=path)
    assert status in {400, 422}


@pytest.mark.parametrize(
    "body",
    [
        b'{"runner_id":"r1","runner_id":"r1","camera_uuid":"cam-1","ttl_seconds":10}',
        b'{"runner_id":"r2","camera_uuid":"cam-1","ttl_seconds":10,"runner_id":"r1"}',
        b'{"runner_id":"r1","camera_uuid":"cam-1","ttl_seconds":10,"ttl\\u005fseconds":9}',
    ],
)
async def test_a_field_given_twice_is_422(control: ControlUnderTest, body: bytes) -> None:
    assert await refused(control, body) == (422, "invalid-message")


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"{}{}", b"\xef\xbb\xbf{}", b"runner_id=r1", b"\x00", b"{'runner_id':'r1'}", b'{"runner_id":"r1",}'],
)
async def test_what_is_not_json_is_400(control: ControlUnderTest, body: bytes) -> None:
    assert await refused(control, body) == (400, "malformed-json")


async def test_text_that_is_not_utf8_is_refused(control: ControlUnderTest) -> None:
    status, _ = await refused(control, b'{"runner_id":"r\xff","camera_uuid":"cam-1","ttl_seconds":10}')
    assert status in {400, 422}


async def test_a_body_over_the_limit_is_413(control: ControlUnderTest) -> None:
    assert await refused(control, b" " * (MAX_BODY + 1)) == (413, "body-too-large")


async def test_a_chunked_body_over_the_limit_is_413_before_it_ends(control: ControlUnderTest) -> None:
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 65_536

    answer = await control.runner().call("POST", ACQUIRE, content=chunks())
    assert (answer.status_code, answer.json()["reason"]) == (413, "body-too-large")
    assert sent == MAX_BODY // 65_536 + 1


async def test_a_length_that_lies_is_413(control: ControlUnderTest) -> None:
    length = {"Content-Length": "9" * 400}
    answer = await control.runner().call("POST", ACQUIRE, content=b"{}", headers=length)
    assert answer.status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x", ""])
async def test_another_media_type_is_415(control: ControlUnderTest, kind: str) -> None:
    assert await refused(control, b"{}", **{"Content-Type": kind}) == (415, "not-json")


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "Application/JSON"])
async def test_json_under_any_spelling_is_taken(control: ControlUnderTest, kind: str) -> None:
    body = b'{"runner_id":"r1","camera_uuid":"cam-1","ttl_seconds":10}'
    answer = await control.runner().call("POST", ACQUIRE, content=body, headers={"Content-Type": kind})
    assert answer.status_code == 200


async def test_a_body_for_another_runner_is_403(control: ControlUnderTest) -> None:
    before = rows(control)
    answer = await control.runner("r2").post(ACQUIRE, GOOD)
    assert (answer.status_code, answer.json()["reason"]) == (403, "wrong-runner")
    assert rows(control) == before


@pytest.mark.parametrize("moment", ["2026-01-01T12:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", 5])
async def test_a_moment_that_cannot_be_compared_is_422(control: ControlUnderTest, moment: object) -> None:
    lease = {"camera_uuid": "cam-1", "version": 1, "made_until": moment}
    answer = await control.runner().post("/v1/leases/cameras/release", {"runner_id": "r1", "cameras": [lease]})
    assert answer.status_code == 422


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/v2/cameras", 404), ("PUT", "/v1/cameras", 405)])
async def test_what_no_route_takes_is_a_problem_too(
    control: ControlUnderTest, method: str, path: str, status: int
) -> None:
    answer = await control.runner().call(method, path)
    assert answer.status_code == status
    assert answer.headers.get("allow") == ("GET, POST" if status == 405 else None)


async def test_an_action_that_no_database_could_hold_is_refused() -> None:
    answer = await ControlUnderTest().operator().get("/v1/audit", action="camera.updated\0")
    assert (answer.status_code, answer.json()["reason"]) == (422, "invalid-message")


async def test_a_report_cannot_smuggle_a_line_break(control: ControlUnderTest) -> None:
    report = {"camera_uuid": "cam-1", "runner_id": "r1", "state": "STREAMING", "ts": "2026-01-01T12:00:00Z"}
    body = {"items": [{**report, "error_code": "RTSP_401\n"}]}
    assert (await control.runner().post("/v1/streams/status/batch", body)).status_code == 422
    beat = {"runner_id": "r1", "streams_owned": 0, "type": "runner.heartbeat\n"}
    assert (await control.runner().post("/v1/runners/heartbeat", beat)).status_code == 422


async def test_no_runner_keeps_everybody_waiting_by_naming_one_camera_again(
    control: ControlUnderTest,
) -> None:
    runner = control.runner()
    lease = {"camera_uuid": "cam-1", "version": 1}
    answer = await runner.post("/v1/leases/cameras/release", {"runner_id": "r1", "cameras": [lease, lease]})
    assert (answer.status_code, "more often than 1" in answer.text) == (422, True)
    report = {"camera_uuid": "cam-1", "runner_id": "r1", "state": "STREAMING", "ts": "2026-01-01T12:00:00Z"}
    statuses = [
        (await runner.post("/v1/streams/status/batch", {"items": [report] * count})).status_code for count in (20, 21)
    ]
    assert statuses == [202, 422]


async def test_a_site_that_dials_next_to_never_says_when_to_come_back(control: ControlUnderTest) -> None:
    await control.operator().post(
        "/v1/sites", {"site_id": "slow", "tenant_id": "t-01", "capacity": 1, "refill_rate": 1e-320}
    )
    for step in ("consume", "done"):
        assert (await control.runner().post(f"/v1/sites/slow/budget/{step}")).status_code == 200
    refused = await control.runner().post("/v1/sites/slow/budget/consume")
    assert (refused.status_code, refused.json()["retry_in_ms"]) == (409, 3_600_000)


async def test_a_method_that_is_not_allowed_is_told_every_one_that_is() -> None:
    client = ControlUnderTest().anyone()
    for path, methods in DOCUMENT["paths"].items():
        answer = await client.call("PUT", path.format(**asdict(Names())))
        assert (answer.status_code, answer.headers["allow"]) == (405, ", ".join(sorted(map(str.upper, methods))))
