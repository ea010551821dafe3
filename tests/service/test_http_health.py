"""Health, readiness and metrics through the HTTP application."""

import pytest

from streamward import __version__
from streamward.control.keeper import ReclaimKeeper
from streamward.leases import facts
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import RunnerId
from tests.support.app import ControlUnderTest


@pytest.fixture
async def control() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras("cam-1", "cam-2")


async def scraped(control: ControlUnderTest) -> dict[str, float]:
    """Every sample, by its name and labels."""
    answer = await control.operator().get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    lines = [line for line in answer.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def asking(camera: str, runner: str = "r1") -> dict[str, object]:
    return {"runner_id": runner, "camera_uuid": camera, "ttl_seconds": 10}


async def test_health_needs_no_token(control: ControlUnderTest) -> None:
    answer = await control.anyone().get("/healthz")
    assert (answer.status_code, answer.json()) == (200, {"status": "alive", "version": __version__})


async def test_ready_tells_the_databases_time(control: ControlUnderTest) -> None:
    answer = await control.anyone().get("/ready")
    assert answer.json() == {"status": "ready", "database_time": "2026-01-01T12:00:00Z"}


async def test_metrics_are_for_operators_of_all_tenants(control: ControlUnderTest) -> None:
    assert (await control.anyone().get("/metrics")).status_code == 401
    assert (await control.runner().get("/metrics")).status_code == 403
    assert (await control.operator(tenant="t-01").get("/metrics")).status_code == 403


async def test_counters_follow_the_facts(control: ControlUnderTest) -> None:
    await control.runner("r1").post("/v1/leases/camera/acquire", asking("cam-1"))
    await control.runner("r2").post("/v1/leases/camera/acquire", asking("cam-1", "r2"))
    control.journal.record(facts.DatabaseClockJumped())
    seen = await scraped(control)
    assert seen["owner_changes_total"] == 1
    assert (seen["assign_attempts_total"], seen["assign_success_total"]) == (2, 1)
    assert seen["database_clock_jumps_total"] == 1
    assert (seen['reclaims_total{kind="soft"}'], seen['reclaims_total{kind="hard"}']) == (0, 0)


async def test_a_repeated_acquire_changes_no_owner(control: ControlUnderTest) -> None:
    for _ in range(3):
        await control.runner().post("/v1/leases/camera/acquire", asking("cam-1"))
    assert (await scraped(control))["owner_changes_total"] == 1


async def test_gauges_show_the_store_as_it_is(control: ControlUnderTest) -> None:
    await control.with_cameras("cam-off", enabled=False)
    await control.runner().post("/v1/leases/camera/acquire", asking("cam-1"))
    await control.runner().post("/v1/sites/site-a/budget/consume", {})
    seen = await scraped(control)
    assert (seen['camera_desired{camera_uuid="cam-1"}'], seen['camera_desired{camera_uuid="cam-off"}']) == (1, 0)
    assert (seen['stream_leases{state="leased"}'], seen['stream_leases{state="free"}']) == (1, 2)
    assert (seen["leases_active"], seen["heartbeats_missing"]) == (1, 0)
    for desired, active, pending in (
        ("streams_desired_total", "active_leases_total", "streams_pending_total"),
        ("streams_desired", "leases_active", "streams_pending"),
    ):
        assert (seen[desired], seen[active], seen[pending]) == (2, 1, 1)
    assert (seen['site_budget_tokens{site_id="site-a"}'], seen['site_dials_in_flight{site_id="site-a"}']) == (9, 1)
    control.clock.advance(6)
    assert (await scraped(control))["heartbeats_missing"] == 1


async def test_how_long_a_runner_was_not_heard_on_the_bus_is_told_until_it_ends(control: ControlUnderTest) -> None:
    silent = 'runner_heartbeat_age_seconds{runner_id="r1"}'
    await control.runner().post("/v1/runners/register", {"runner_id": "r1"})
    assert (await scraped(control))[silent] == 0
    control.clock.advance(4)
    control.journal.record(facts.RunnerHeard(runner_id=RunnerId("r1")))
    control.clock.advance(6)
    assert (await scraped(control))[silent] == 6
    await control.runner().post("/v1/runners/release-all", {"runner_id": "r1"})
    assert silent not in await scraped(control)


async def test_latency_is_told_by_route_and_status_not_by_camera(control: ControlUnderTest) -> None:
    await control.runner().get("/v1/cameras/cam-1/why")
    await control.runner().get("/v1/cameras/cam-9/why")
    await control.runner().get("/nowhere/at/all")
    seen = await scraped(control)
    name = "http_request_duration_seconds_count"
    assert seen[f'{name}{{route="/v1/cameras/{{camera_uuid}}/why",status="200"}}'] == 1
    assert seen[f'{name}{{route="/v1/cameras/{{camera_uuid}}/why",status="404"}}'] == 1
    assert seen[f'{name}{{route="none",status="404"}}'] == 1


async def test_hard_reclaims_are_counted(control: ControlUnderTest) -> None:
    await control.with_cameras("cam-s", site="site-s", policy=LeasePolicyName.STICKY)
    await control.pass_time(95)
    await control.runner().post("/v1/leases/camera/acquire", asking("cam-s"))
    await control.pass_time(11 + 600)
    await ReclaimKeeper(control.store, control.journal).tick()
    assert (await scraped(control))['reclaims_total{kind="hard"}'] == 1


async def test_every_camera_is_told_however_many_pages_they_fill(control: ControlUnderTest) -> None:
    await control.with_cameras(*(f"many-{n}" for n in range(2100)))
    seen = await scraped(control)
    assert sum(name.startswith("camera_desired") for name in seen) == 2102
