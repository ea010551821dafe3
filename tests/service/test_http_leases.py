"""S0-068 to S0-070 and their batch forms, through the HTTP application."""

from typing import Any

import pytest

from streamward.leases.facts import LeasesLost
from streamward.model.camera import LeasePolicyName
from tests.support.app import ControlUnderTest, instant
from tests.support.clocks import START

ACQUIRE = "/v1/leases/camera/acquire"
RENEW = "/v1/leases/camera/renew"
RELEASE = "/v1/leases/camera/release"


def asking(camera_uuid: str = "cam-1", *, runner_id: str = "r1", **more: object) -> dict[str, object]:
    return {"runner_id": runner_id, "camera_uuid": camera_uuid, "ttl_seconds": 10, **more}


@pytest.fixture
async def control() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras("cam-1", "cam-2", "cam-3")


async def test_acquire_grants_a_free_camera(control: ControlUnderTest) -> None:
    answer = await control.runner().post(ACQUIRE, asking())
    assert answer.status_code == 200
    assert answer.json() == {
        "camera_uuid": "cam-1",
        "owner_id": "r1",
        "expires_at": "2026-01-01T12:00:10Z",
        "version": 1,
        "ttl_ms": 10_000,
        "server_time": "2026-01-01T12:00:00Z",
        "source": {
            "rtsp_url": "rtsp://127.0.0.1:8554/cam-1",
            "username": None,
            "password": None,
            "credential_version": 0,
            "site_id": "site-a",
            "revision": 1,
        },
    }


async def test_acquire_answers_409_while_somebody_else_holds_a_fresh_lease(control: ControlUnderTest) -> None:
    await control.runner("r1").post(ACQUIRE, asking())
    answer = await control.runner("r2").post(ACQUIRE, asking(runner_id="r2"))
    assert (answer.status_code, answer.json()["reason"]) == (409, "held")


async def test_a_repeated_acquire_keeps_the_version_and_extends(control: ControlUnderTest) -> None:
    await control.runner().post(ACQUIRE, asking())
    control.clock.advance(3)
    answer = (await control.runner().post(ACQUIRE, asking())).json()
    assert answer["version"] == 1
    assert (instant(answer["expires_at"]) - START).total_seconds() == 13


async def test_an_expired_lease_goes_to_the_next_with_a_higher_version(control: ControlUnderTest) -> None:
    await control.pass_time(12)
    await control.runner("r1").post(ACQUIRE, asking())
    await control.pass_time(12)
    answer = await control.runner("r2").post(ACQUIRE, asking(runner_id="r2"))
    assert (answer.status_code, answer.json()["owner_id"], answer.json()["version"]) == (200, "r2", 2)


async def test_acquire_of_an_unknown_camera_is_404(control: ControlUnderTest) -> None:
    answer = await control.runner().post(ACQUIRE, asking("cam-9"))
    assert (answer.status_code, answer.json()["reason"]) == (404, "camera-unknown")


async def test_acquire_of_a_disabled_camera_is_409(control: ControlUnderTest) -> None:
    await control.with_cameras("cam-off", enabled=False)
    answer = await control.runner().post(ACQUIRE, asking("cam-off"))
    assert (answer.status_code, answer.json()["reason"]) == (409, "camera-not-wanted")


async def test_renew_extends_what_the_runner_holds(control: ControlUnderTest) -> None:
    await control.runner().post(ACQUIRE, asking())
    control.clock.advance(2)
    answer = await control.runner().post(RENEW, asking(version=1))
    assert answer.status_code == 200
    assert answer.json()["expires_at"] == "2026-01-01T12:00:12Z"
    assert answer.json()["version"] == 1


@pytest.mark.parametrize("more", [{}, {"version": 1}, {"version": 7}])
async def test_renew_answers_404_to_whoever_is_not_the_owner(control: ControlUnderTest, more: dict[str, Any]) -> None:
    await control.runner("r1").post(ACQUIRE, asking())
    answer = await control.runner("r2").post(RENEW, asking(runner_id="r2", **more))
    assert (answer.status_code, answer.json()["reason"]) == (404, "not-owner")


async def test_renew_of_another_version_is_404(control: ControlUnderTest) -> None:
    await control.runner().post(ACQUIRE, asking())
    answer = await control.runner().post(RENEW, asking(version=2))
    assert answer.status_code == 404


async def test_release_frees_a_camera_for_the_next(control: ControlUnderTest) -> None:
    await control.runner("r1").post(ACQUIRE, asking())
    answer = await control.runner("r1").post(RELEASE, {"runner_id": "r1", "camera_uuid": "cam-1"})
    assert (answer.status_code, answer.json()) == (200, {"released": ["cam-1"]})
    taken = await control.runner("r2").post(ACQUIRE, asking(runner_id="r2"))
    assert (taken.status_code, taken.json()["version"]) == (200, 2)


async def test_release_of_what_is_not_the_runners_is_200_and_changes_nothing(control: ControlUnderTest) -> None:
    await control.runner("r1").post(ACQUIRE, asking())
    answer = await control.runner("r2").post(RELEASE, {"runner_id": "r2", "camera_uuid": "cam-1"})
    assert (answer.status_code, answer.json()) == (200, {"released": []})
    assert (await control.runner("r1").post(RENEW, asking())).status_code == 200


async def test_batch_acquire_gives_free_cameras_up_to_the_limit(control: ControlUnderTest) -> None:
    runner = control.runner()
    await runner.post("/v1/runners/register", {"runner_id": "r1"})
    answer = await runner.post("/v1/leases/cameras/acquire", {"runner_id": "r1", "limit": 2})
    assert answer.status_code == 200
    assert [lease["camera_uuid"] for lease in answer.json()["leases"]] == ["cam-1", "cam-2"]
    assert answer.json()["leases"][0]["version"] == 1
    assert answer.json()["leases"][0]["ttl_ms"] == 8000


async def test_batch_acquire_without_registration_is_409(control: ControlUnderTest) -> None:
    answer = await control.runner().post("/v1/leases/cameras/acquire", {"runner_id": "r1", "limit": 2})
    assert (answer.status_code, answer.json()["reason"]) == (409, "incarnation-ended")


async def test_a_renewal_that_names_many_lost_cameras_is_one_fact(control: ControlUnderTest) -> None:
    await control.runner().post(ACQUIRE, asking())
    told: list[object] = []
    control.journal.subscribe(told.append)
    named = [{"camera_uuid": f"gone-{number}", "version": 1} for number in range(1000)]
    answer = await control.runner().post("/v1/leases/cameras/renew", {"runner_id": "r1", "cameras": named})
    assert len(answer.json()["lost"]) == 1000
    (lost,) = [fact for fact in told if isinstance(fact, LeasesLost)]
    assert (lost.runner_id, lost.count, lost.cameras[:2], len(lost.cameras)) == ("r1", 1000, ("gone-0", "gone-1"), 5)


async def test_batch_renew_tells_kept_lost_and_unlisted(control: ControlUnderTest) -> None:
    runner = control.runner()
    await runner.post(ACQUIRE, asking("cam-1"))
    await runner.post(ACQUIRE, asking("cam-2"))
    named = [{"camera_uuid": "cam-1", "version": 1}, {"camera_uuid": "cam-3", "version": 4}]
    answer = await runner.post("/v1/leases/cameras/renew", {"runner_id": "r1", "cameras": named})
    assert answer.json() == {
        "server_time": "2026-01-01T12:00:00Z",
        "renewed": [{"camera_uuid": "cam-1", "version": 1, "ttl_ms": 10_000}],
        "lost": ["cam-3"],
        "busy": [],
        "unlisted": [{"camera_uuid": "cam-2", "version": 1}],
    }


async def test_batch_release_gives_back_exactly_what_is_named(control: ControlUnderTest) -> None:
    runner = control.runner()
    await runner.post(ACQUIRE, asking("cam-1"))
    await runner.post(ACQUIRE, asking("cam-2"))
    given_back = [
        {"camera_uuid": "cam-1", "version": 1, "made_until": "2026-01-01T13:00:00+01:00"},
        {"camera_uuid": "cam-2", "version": 9},
    ]
    answer = await runner.post("/v1/leases/cameras/release", {"runner_id": "r1", "cameras": given_back})
    assert (answer.status_code, answer.json()) == (200, {"released": ["cam-1"]})


async def test_an_operator_takes_an_expired_lease_inside_its_soft_window(control: ControlUnderTest) -> None:
    await control.with_cameras("cam-s", site="site-s", policy=LeasePolicyName.STICKY)
    await control.pass_time(95)
    await control.runner("r1").post(ACQUIRE, asking("cam-s"))
    body = {"camera_uuid": "cam-s", "version": 1}
    assert (await control.operator().post("/v1/leases/reclaim", body)).status_code == 409
    await control.pass_time(12)
    refused = await control.runner("r2").post(ACQUIRE, asking("cam-s", runner_id="r2"))
    assert refused.json()["reason"] == "soft-window"
    answer = await control.operator().post("/v1/leases/reclaim", body)
    assert (answer.status_code, answer.json()) == (200, {"released": ["cam-s"]})


async def test_reclaim_is_an_operators_and_stays_in_its_tenant(control: ControlUnderTest) -> None:
    body = {"camera_uuid": "cam-1", "version": 1}
    assert (await control.runner().post("/v1/leases/reclaim", body)).status_code == 403
    assert (await control.operator(tenant="t-02").post("/v1/leases/reclaim", body)).status_code == 404


async def test_an_incarnation_that_was_replaced_is_refused(control: ControlUnderTest) -> None:
    old, new = control.runner(incarnation="inc-1"), control.runner(incarnation="inc-2")
    await old.post(ACQUIRE, asking())
    assert (await new.post("/v1/runners/register", {"runner_id": "r1"})).status_code == 200
    assert (await old.post(RENEW, asking())).status_code == 404
    assert (await old.post(ACQUIRE, asking("cam-2"))).json()["reason"] == "incarnation-ended"
