"""Dial budgets and stream reports, through the HTTP application."""

import pytest

from streamward.model.ids import CameraId
from tests.support.app import ControlUnderTest

CONSUME = "/v1/sites/site-a/budget/consume"
DONE = "/v1/sites/site-a/budget/done"
REPORT = {"camera_uuid": "cam-1", "runner_id": "r1", "state": "STREAMING", "ts": "2026-01-01T12:00:00Z"}


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1", "cam-2")
    await control.runner().post(
        "/v1/leases/camera/acquire", {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    )
    return control


async def test_a_dial_without_a_body_takes_a_token(control: ControlUnderTest) -> None:
    answer = await control.runner().call("POST", CONSUME)
    assert (answer.status_code, answer.json()) == (200, {"site_id": "site-a", "tokens": 9.0, "reserve": 2.0})


async def test_a_retried_dial_costs_one_token(control: ControlUnderTest) -> None:
    dial = {"camera_uuid": "cam-1", "version": 1}
    await control.runner().post(CONSUME, dial)
    answer = await control.runner().post(CONSUME, dial)
    assert (answer.status_code, answer.json()["tokens"]) == (200, 9.0)


async def test_an_empty_budget_is_409_and_says_when_to_come_back(control: ControlUnderTest) -> None:
    for _ in range(10):
        assert (await control.runner().post(CONSUME, {})).status_code == 200
    full = await control.runner().post(CONSUME, {})
    assert (full.status_code, full.json()["reason"], full.headers["retry-after"]) == (409, "too-many-in-flight", "1")
    for _ in range(10):
        await control.runner().post(DONE, {})
    empty = await control.runner().post(CONSUME, {})
    assert (empty.status_code, empty.json()["reason"], empty.json()["retry_in_ms"]) == (409, "budget-empty", 500)


async def test_a_finished_dial_is_no_longer_in_flight(control: ControlUnderTest) -> None:
    runner, dial = control.runner(), {"camera_uuid": "cam-1", "version": 1}
    await runner.post(CONSUME, dial)
    assert (await runner.get("/v1/sites/site-a/budget")).json()["in_flight"] == 1
    assert (await runner.post(DONE, dial)).json() == {"site_id": "site-a", "finished": True}
    assert (await runner.post(DONE, dial)).json() == {"site_id": "site-a", "finished": False}
    assert (await runner.get("/v1/sites/site-a/budget")).json()["in_flight"] == 0


async def test_a_budget_has_the_fields_of_s0(control: ControlUnderTest) -> None:
    answer = await control.operator().get("/v1/sites/site-a/budget")
    assert answer.json() == {
        "site_id": "site-a",
        "tokens": 10.0,
        "capacity": 10,
        "refill_rate": 120.0,
        "reserve": 2.0,
        "reserve_size": 2,
        "in_flight": 0,
        "waiting": 2,
        "dialed_in_s": 1.0,
        "updated_at": "2026-01-01T12:00:00Z",
    }


async def test_a_budget_tells_what_would_come_of_more_cameras(control: ControlUnderTest) -> None:
    await control.runner().post(CONSUME, {"camera_uuid": "cam-1", "version": 1})
    told = (await control.operator().get("/v1/sites/site-a/budget", add=100)).json()
    assert (told["tokens"], told["in_flight"], told["waiting"]) == (9.0, 1, 1)
    assert told["dialed_in_s"] == 47.0  # 9 tokens of 101 are there, and 2 come each second


@pytest.mark.parametrize("site", ["site-x", "site-a"])
async def test_a_site_that_is_unknown_or_another_tenants_is_404(control: ControlUnderTest, site: str) -> None:
    runner = control.runner(tenant="t-02")
    assert (await runner.post(f"/v1/sites/{site}/budget/consume", {})).status_code == 404
    assert (await runner.post(f"/v1/sites/{site}/budget/done", {})).status_code == 404
    assert (await runner.get(f"/v1/sites/{site}/budget")).status_code == 404


@pytest.mark.parametrize("site", ["a.b", "a*b", "a:b", "a%23b", "a%0A", "x" * 65, "a%2Fb"])
async def test_an_id_in_a_path_is_checked(control: ControlUnderTest, site: str) -> None:
    answer = await control.runner().post(f"/v1/sites/{site}/budget/consume", {})
    assert answer.status_code in {404, 422}


async def test_an_operator_dials_nothing(control: ControlUnderTest) -> None:
    assert (await control.operator().post(CONSUME, {})).status_code == 403


async def test_reports_are_202_with_the_number_taken_in(control: ControlUnderTest) -> None:
    items = [
        {**REPORT, "type": "stream.status", "shard_id": "shard-0", "fps": 5.8},
        {**REPORT, "camera_uuid": "cam-2", "last_frame_ts": "2026-01-01T11:59:59Z", "last_frame_age_s": 1.2},
    ]
    answer = await control.runner().post("/v1/streams/status/batch", {"items": items})
    assert (answer.status_code, answer.json()) == (202, {"accepted": 1})


async def test_a_report_of_a_superseded_version_is_left_out(control: ControlUnderTest) -> None:
    items = [REPORT | {"version": 7}, REPORT | {"version": 1, "state": "CONNECTING", "error_code": "TCP_TIMEOUT"}]
    answer = await control.runner().post("/v1/streams/status/batch", {"items": items})
    assert answer.json() == {"accepted": 1}
    status = await control.store.find_status(CameraId("cam-1"))
    assert status is not None
    assert status.error_code == "TCP_TIMEOUT"


async def test_a_runner_reports_for_itself_only(control: ControlUnderTest) -> None:
    items = [REPORT, REPORT | {"runner_id": "r2"}]
    answer = await control.runner().post("/v1/streams/status/batch", {"items": items})
    assert (answer.status_code, answer.json()["reason"]) == (403, "wrong-runner")
    assert await control.store.find_status(CameraId("cam-1")) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "SLEEPING"},
        {"ts": "yesterday"},
        {"ts": "2026-01-01T12:00:00"},
        {"ts": "0001-01-01T00:00:00+14:00"},
        {"fps": -1},
        {"type": "stream.error"},
        {"error_code": "<b>"},
        {"substate": "TIRED"},
    ],
)
async def test_a_wrong_report_is_422_and_none_of_its_batch_counts(
    control: ControlUnderTest, wrong: dict[str, object]
) -> None:
    answer = await control.runner().post("/v1/streams/status/batch", {"items": [REPORT, REPORT | wrong]})
    assert answer.status_code == 422
    assert await control.store.find_status(CameraId("cam-1")) is None


async def test_many_dials_are_one_call(control: ControlUnderTest) -> None:
    await control.with_cameras("cam-1")
    runner = control.runner()
    dials = [{"site_id": site, "camera_uuid": "cam-1", "version": 1} for site in ("site-a", "nowhere")]
    told = await runner.post("/v1/dials", {"items": dials})
    assert told.json() == {
        "items": [
            {"camera_uuid": "cam-1", "reason": None, "retry_in_ms": None},
            {"camera_uuid": "cam-1", "reason": "site-unknown", "retry_in_ms": None},
        ]
    }
    assert (await runner.get("/v1/sites/site-a/budget")).json()["in_flight"] == 1
    assert (await runner.post("/v1/dials/done", {"items": dials})).json() == {"finished": 1}
    assert (await runner.get("/v1/sites/site-a/budget")).json()["in_flight"] == 0
