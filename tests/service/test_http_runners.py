"""S0-071 and S0-072, registration and the operators' flags, through the HTTP application."""

import pytest

from tests.support.app import ControlUnderTest

HEARTBEAT = {
    "type": "runner.heartbeat",
    "runner_id": "r1",
    "streams_owned": 37,
    "shards": 3,
    "cpu_pct": 41.2,
    "mem_mb": 1024,
    "ts": "2025-08-21T11:00:00Z",
}


@pytest.fixture
async def control() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras("cam-1", "cam-2")


async def test_the_heartbeat_of_s0_is_accepted_and_tells_the_flags(control: ControlUnderTest) -> None:
    answer = await control.runner().post("/v1/runners/heartbeat", HEARTBEAT)
    assert answer.status_code == 200
    assert answer.json()["cordoned"] is False


async def test_a_runner_reads_its_flags(control: ControlUnderTest) -> None:
    await control.runner().post("/v1/runners/register", {"runner_id": "r1"})
    answer = await control.runner().get("/v1/runners/r1")
    assert answer.status_code == 200
    assert answer.json() == {
        "runner_id": "r1",
        "cordoned": False,
        "drain_mode": "none",
        "capacity_streams": 40,
        "incarnation": "inc-1",
        "site_id": None,
        "policy": "fast",
        "last_seen_at": "2026-01-01T12:00:00Z",
        "make": 0,
        "detector": None,
        "earlier_detector": None,
        "proven_make": 0,
        "tried_make": 0,
        "make_problem": None,
    }


async def test_a_runner_does_not_read_another_ones_flags(control: ControlUnderTest) -> None:
    await control.runner("r2").post("/v1/runners/register", {"runner_id": "r2"})
    answer = await control.runner("r1").get("/v1/runners/r2")
    assert (answer.status_code, answer.json()["reason"]) == (403, "wrong-runner")
    assert (await control.operator().get("/v1/runners/r2")).status_code == 200


async def test_an_unknown_runner_is_404(control: ControlUnderTest) -> None:
    assert (await control.operator().get("/v1/runners/r9")).status_code == 404
    assert (await control.operator().patch("/v1/runners/r9", {"cordoned": True}, if_match="*")).status_code == 404


async def test_a_cordoned_runner_takes_no_new_lease_and_keeps_its_own(control: ControlUnderTest) -> None:
    runner = control.runner()
    body = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    await runner.post("/v1/leases/camera/acquire", body)
    changed = await control.operator().patch("/v1/runners/r1", {"cordoned": True}, if_match="*")
    assert (changed.status_code, changed.json()["cordoned"]) == (200, True)
    refused = await runner.post("/v1/leases/camera/acquire", body | {"camera_uuid": "cam-2"})
    assert (refused.status_code, refused.json()["reason"]) == (409, "runner-cordoned")
    assert (await runner.post("/v1/leases/camera/renew", body)).status_code == 200


async def test_a_change_leaves_alone_what_it_does_not_name(control: ControlUnderTest) -> None:
    await control.runner().post("/v1/runners/register", {"runner_id": "r1", "capacity_streams": 7})
    operator = control.operator()
    await operator.patch("/v1/runners/r1", {"drain_mode": "soft"}, if_match="*")
    answer = (await operator.patch("/v1/runners/r1", {"capacity_streams": 3}, if_match="*")).json()
    assert (answer["drain_mode"], answer["capacity_streams"], answer["cordoned"]) == ("soft", 3, False)


@pytest.mark.parametrize("change", [{"cordoned": None}, {"drain_mode": "slow"}, {"capacity_streams": -1}, {"x": 1}, []])
async def test_a_wrong_change_is_422(control: ControlUnderTest, change: object) -> None:
    await control.runner().post("/v1/runners/register", {"runner_id": "r1"})
    before = (await control.operator().get("/v1/runners/r1")).json()
    assert (await control.operator().patch("/v1/runners/r1", change, if_match="*")).status_code == 422
    assert (await control.operator().get("/v1/runners/r1")).json() == before


async def test_runners_change_and_list_no_runners(control: ControlUnderTest) -> None:
    runner = control.runner()
    await runner.post("/v1/runners/register", {"runner_id": "r1"})
    assert (await runner.patch("/v1/runners/r1", {"cordoned": True}, if_match="*")).status_code == 403
    assert (await runner.get("/v1/runners")).status_code == 403


async def test_an_operator_of_one_tenant_has_no_say_over_runners_of_all(control: ControlUnderTest) -> None:
    await control.runner("r1").post("/v1/runners/register", {"runner_id": "r1"})
    await control.runner("r2", tenant="t-01").post("/v1/runners/register", {"runner_id": "r2"})
    operator = control.operator(tenant="t-01")
    assert [each["runner_id"] for each in (await operator.get("/v1/runners")).json()["items"]] == ["r2"]
    assert (await operator.patch("/v1/runners/r1", {"cordoned": True}, if_match="*")).status_code == 404
    assert (await operator.patch("/v1/runners/r2", {"cordoned": True}, if_match="*")).status_code == 200


async def test_release_all_gives_everything_back_and_ends_the_incarnation(control: ControlUnderTest) -> None:
    runner = control.runner()
    body = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    await runner.post("/v1/leases/camera/acquire", body)
    answer = await runner.post("/v1/runners/release-all", {"runner_id": "r1"})
    assert (answer.status_code, answer.json()) == (200, {"released": ["cam-1"]})
    late = await runner.post("/v1/leases/camera/acquire", body)
    assert (late.status_code, late.json()["reason"]) == (409, "incarnation-ended")
    assert (await runner.post("/v1/runners/register", {"runner_id": "r1"})).status_code == 409
    assert (await runner.post("/v1/runners/heartbeat", HEARTBEAT)).status_code == 409


async def test_a_body_for_another_incarnation_than_the_tokens_is_403(control: ControlUnderTest) -> None:
    answer = await control.runner().post("/v1/runners/register", {"runner_id": "r1", "incarnation": "inc-7"})
    assert (answer.status_code, answer.json()["reason"]) == (403, "wrong-incarnation")


async def test_a_client_of_plain_s0_starts_anew_without_registering(control: ControlUnderTest) -> None:
    body = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    old, new = control.runner(incarnation="inc-1"), control.runner(incarnation="inc-2")
    await old.post("/v1/leases/camera/acquire", body)
    assert (await new.post("/v1/leases/camera/acquire", body)).json()["reason"] == "held"
    assert (await new.post("/v1/leases/camera/acquire", body | {"camera_uuid": "cam-2"})).status_code == 200
    assert (await old.post("/v1/leases/camera/renew", body)).status_code == 404
    late = await old.post("/v1/leases/camera/acquire", body | {"camera_uuid": "cam-2"})
    assert (late.status_code, late.json()["reason"]) == (409, "incarnation-ended")


async def test_a_start_without_registering_keeps_the_runners_site_and_policy(control: ControlUnderTest) -> None:
    told = {"runner_id": "r1", "site_id": "site-a", "policy": "sticky"}
    await control.runner(incarnation="inc-1").post("/v1/runners/register", told)
    flags = (await control.runner(incarnation="inc-2").post("/v1/runners/heartbeat", HEARTBEAT)).json()
    assert (flags["incarnation"], flags["site_id"], flags["policy"]) == ("inc-2", "site-a", "sticky")


async def test_each_rollout_is_another_make_and_remembers_what_last_worked(control: ControlUnderTest) -> None:
    runner, operator = control.runner(), control.operator()
    await runner.post("/v1/runners/register", {"runner_id": "r1"})

    async def roll_out(detector: str | None) -> tuple[int, str | None, str | None]:
        told = (await operator.patch("/v1/runners/r1", {"detector": detector}, if_match="*")).json()
        return told["make"], told["detector"], told["earlier_detector"]

    assert await roll_out("colour") == (1, "colour", None)
    beat = {"runner_id": "r1", "streams_owned": 0, "make": 1}
    assert (await runner.post("/v1/runners/heartbeat", beat)).json()["detector"] == "colour"
    assert await roll_out("people") == (2, "people", "colour")
    await runner.post("/v1/runners/heartbeat", beat | {"make_problem": "it is broken"})
    assert (await operator.get("/v1/runners/r1")).json()["make_problem"] == "it is broken"
    assert await roll_out("cars") == (3, "cars", "colour")
    assert await roll_out(None) == (4, None, "colour")


async def test_a_detector_that_cannot_be_named_is_refused(control: ControlUnderTest) -> None:
    await control.runner().post("/v1/runners/register", {"runner_id": "r1"})
    answer = await control.operator().patch("/v1/runners/r1", {"detector": "no such; thing"}, if_match="*")
    assert answer.status_code == 422
