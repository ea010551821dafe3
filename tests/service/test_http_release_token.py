"""The token that a runner's parent has: it ends one incarnation, and nothing else.

That every other call refuses it is in `test_http_contract.py`."""

import pytest

from streamward.model.ids import RunnerId
from tests.support.app import KEYRING, Client, ControlUnderTest
from tests.support.clocks import START
from tests.support.tokens import claims, signed

RELEASE_ALL = "/v1/runners/release-all"
ACQUIRE = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
DAY = 86_400


@pytest.fixture
async def control() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras("cam-1", "cam-2")


async def parent_of(control: ControlUnderTest, **runner: str) -> Client:
    answer = await control.runner(**runner).post("/v1/runners/release-token", {"runner_id": "r1"})
    assert answer.status_code == 200
    return control.anyone(answer.json()["token"])


async def test_it_releases_what_its_incarnation_holds_long_after_the_runners_own_token_ended(control) -> None:
    await control.runner().post("/v1/leases/camera/acquire", ACQUIRE)
    parent = await parent_of(control)
    control.clock.advance(DAY - 10)
    answer = await parent.post(RELEASE_ALL, {"runner_id": "r1", "incarnation": "inc-1"})
    assert (answer.status_code, answer.json()) == (200, {"released": ["cam-1"]})
    assert (await control.runner().post("/v1/leases/camera/acquire", ACQUIRE)).status_code == 409


async def test_it_ends_when_it_says(control) -> None:
    answer = await control.runner().post("/v1/runners/release-token", {"runner_id": "r1", "incarnation": "inc-1"})
    assert answer.json()["expires_at"] == "2026-01-02T12:00:00Z"
    control.clock.advance(DAY)
    late = await control.anyone(answer.json()["token"]).post(RELEASE_ALL, {"runner_id": "r1"})
    assert (late.status_code, late.json()["reason"]) == (401, "token-expired")


async def test_it_does_not_touch_what_a_later_incarnation_holds(control) -> None:
    parent = await parent_of(control, incarnation="inc-1")
    await control.runner(incarnation="inc-2").post("/v1/runners/register", {"runner_id": "r1"})
    await control.runner(incarnation="inc-2").post("/v1/leases/camera/acquire", ACQUIRE)
    assert (await parent.post(RELEASE_ALL, {"runner_id": "r1"})).json() == {"released": []}
    assert (await control.runner(incarnation="inc-2").post("/v1/leases/camera/renew", ACQUIRE)).status_code == 200


@pytest.mark.parametrize("body", [{"runner_id": "r2"}, {"runner_id": "r1", "incarnation": "inc-2"}])
async def test_it_speaks_for_nobody_else(control, body: dict[str, str]) -> None:
    assert (await (await parent_of(control)).post(RELEASE_ALL, body)).status_code == 403
    assert (await control.runner().post("/v1/runners/release-token", body)).status_code == 403


async def test_a_person_has_no_such_token(control) -> None:
    assert (await control.operator().post("/v1/runners/release-token", {"runner_id": "r1"})).status_code == 403
    forged = claims(int(START.timestamp()), role="operator", inc=None, only="release-all")
    answer = await control.anyone(signed(KEYRING, forged)).get("/v1/cameras")
    assert (answer.status_code, answer.json()["reason"]) == (401, "token-invalid")


async def test_a_token_good_for_something_that_we_do_not_know_is_good_for_nothing(control) -> None:
    forged = claims(int(START.timestamp()), only="renew")
    assert (await control.anyone(signed(KEYRING, forged)).post(RELEASE_ALL, {"runner_id": "r1"})).status_code == 401


async def test_a_plain_token_of_a_runner_is_not_limited(control) -> None:
    assert (await control.anyone(control.mint.runner(RunnerId("r1"))).get("/v1/cameras")).status_code == 200
