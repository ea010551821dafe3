"""Logins, through the HTTP application."""

import pytest
from fastapi import FastAPI

from streamward.control.api.edge import Edge
from streamward.control.api.logins import add_logins
from streamward.control.api.routing import Routes
from streamward.control.logins import LoginService
from streamward.control.metrics import Metrics
from streamward.control.refusals import Attempts, Refusals
from streamward.leases import facts
from streamward.leases.logins import PARKED_FOR
from streamward.model.ids import CameraId, RunnerId
from tests.support.app import VAULT, ControlUnderTest

LOGIN, OTHER = "a" * 64, "b" * 64
ASK = {"camera_uuid": "cam-1", "login": LOGIN}
REFUSED = {**ASK, "outcome": "refused"}


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1")
    await take(control, "inc-1")
    return control


async def take(control: ControlUnderTest, incarnation: str) -> None:
    """One start of the runner takes the camera."""
    runner = control.runner(incarnation=incarnation)
    await runner.post("/v1/runners/register", {"runner_id": "r1"})
    lease = {"runner_id": "r1", "camera_uuid": "cam-1", "ttl_seconds": 10}
    assert (await runner.post("/v1/leases/camera/acquire", lease)).status_code == 200


async def say(control: ControlUnderTest, *, incarnation: str = "inc-1", **said: object) -> list[dict[str, object]]:
    answer = await control.runner(incarnation=incarnation).post("/v1/logins", {"runner_id": "r1", **said})
    assert answer.status_code == 200
    items: list[dict[str, object]] = answer.json()["items"]
    return items


async def test_a_login_that_nobody_knows_may_be_tried(control: ControlUnderTest) -> None:
    assert await say(control, asks=[ASK]) == [{**ASK, "permission": "go", "retry_in_ms": 0}]


async def test_the_second_refusal_parks_it_also_for_the_next_start(control: ControlUnderTest) -> None:
    for _ in range(2):
        await say(control, asks=[ASK])
        await say(control, told=[REFUSED])
    await control.pass_time(60)
    await take(control, "inc-2")
    parked = await say(control, incarnation="inc-2", asks=[ASK])
    assert parked == [{**ASK, "permission": "parked", "retry_in_ms": (PARKED_FOR - 60) * 1000}]
    assert [each["permission"] for each in await say(control, incarnation="inc-2", asks=[{**ASK, "login": OTHER}])] == [
        "go"
    ]


async def test_that_a_login_was_parked_is_noted_without_the_login(control: ControlUnderTest) -> None:
    noted: list[object] = []
    control.journal.subscribe(noted.append)
    await say(control, told=[REFUSED], asks=[ASK])
    await say(control, told=[REFUSED])
    assert noted == [facts.LoginParked(camera_id=CameraId("cam-1"), runner_id=RunnerId("r1"))]


async def test_the_store_keeps_nothing_that_a_guess_could_be_tried_on(control: ControlUnderTest) -> None:
    await say(control, asks=[ASK])
    [(tenant, login)] = control.database.logins
    assert (tenant, login == LOGIN) == ("t-01", False)


async def test_cameras_of_other_runners_are_left_out(control: ControlUnderTest) -> None:
    answer = await control.runner("r2").post("/v1/logins", {"runner_id": "r2", "asks": [ASK], "told": [REFUSED] * 2})
    assert (answer.status_code, answer.json()) == (200, {"items": []})
    assert (await say(control, asks=[ASK]))[0]["permission"] == "go"


async def test_a_runner_speaks_for_itself(control: ControlUnderTest) -> None:
    answer = await control.runner("r2").post("/v1/logins", {"runner_id": "r1", "asks": [ASK]})
    assert (answer.status_code, answer.json()["reason"]) == (403, "wrong-runner")


@pytest.mark.parametrize("login", ["", "ada", "A" * 64, "a" * 65, "a" * 64 + "\n"])
async def test_what_is_no_digest_is_refused(control: ControlUnderTest, login: str) -> None:
    answer = await control.runner().post("/v1/logins", {"runner_id": "r1", "asks": [{**ASK, "login": login}]})
    assert answer.status_code == 422


async def test_a_message_is_bounded(control: ControlUnderTest) -> None:
    answer = await control.runner().post("/v1/logins", {"runner_id": "r1", "asks": [ASK] * 201})
    assert answer.status_code == 422


async def test_a_change_of_the_signing_key_forgets_nothing(control: ControlUnderTest) -> None:
    keys = [b"old" * 11]
    control.app = FastAPI()
    control.app.add_middleware(Edge, clock=control.clock, meter=Metrics(clock=control.clock))
    refusals = Refusals(control.store, journal=control.journal, clock=control.clock, attempts=Attempts())
    routes = Routes(control.app, tokens=control.trust.check, refusals=refusals)
    logins = LoginService(control.store, VAULT, control.journal, lambda: keys)
    add_logins(routes, control.store, logins=logins)
    await say(control, told=[REFUSED], asks=[ASK])
    await say(control, told=[REFUSED])
    keys.insert(0, b"new" * 11)
    assert (await say(control, asks=[ASK]))[0]["permission"] == "parked"
    keys.pop()
    assert (await say(control, asks=[ASK]))[0]["permission"] == "parked"
