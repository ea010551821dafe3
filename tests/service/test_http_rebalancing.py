"""Moves that balance a fleet, through the HTTP application; and the rounds that a control plane does by itself."""

from typing import Any

import pytest

from streamward.control.rebalancing import Rebalancer, RebalanceService
from streamward.leases.facts import MoveStarted
from tests.support.app import Client, ControlUnderTest

PATH = "/v1/fleet/rebalance"
OURS, THEIRS = ("cam-1", "cam-2"), ("cam-8", "cam-9")


@pytest.fixture
async def control() -> ControlUnderTest:
    """One runner holds all cameras of two tenants; the other has just registered."""
    made = await ControlUnderTest().with_cameras(*OURS)
    await made.with_cameras(*THEIRS, site="site-b", tenant="t-02")
    for runner_id in ("r1", "r2"):
        runner = made.runner(runner_id)
        assert (await runner.post("/v1/runners/register", {"runner_id": runner_id})).status_code == 200
        if runner_id == "r1":
            assert (await runner.post("/v1/leases/cameras/acquire", {"runner_id": "r1", "limit": 9})).status_code == 200
    return made


async def rebalanced(client: Client, **fields: bool) -> dict[str, Any]:
    answer = await client.post(PATH, fields)
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    return body


async def test_a_round_answers_its_moves_and_is_noted_and_told(control: ControlUnderTest) -> None:
    told: list[object] = []
    control.journal.subscribe(told.append)
    done = await rebalanced(control.operator())
    assert done["moves"] == [
        {"camera_uuid": each, "tenant_id": "t-01", "version": 1, "from_runner": "r1", "to_runner": "r2"}
        for each in OURS
    ]
    assert (done["left"], done["dry_run"]) == (0, False)
    started = [fact for fact in told if isinstance(fact, MoveStarted)]
    assert [(fact.camera_id, fact.runner_id, fact.successor_id) for fact in started] == [
        (each, "r1", "r2") for each in OURS
    ]
    noted = [note for note in control.database.audit if note.action == "fleet.rebalanced"]
    assert [(note.author.subject, note.after) for note in noted] == [("ada", dict.fromkeys(OURS, "r1 to r2"))]


async def test_a_dry_run_starts_and_notes_nothing(control: ControlUnderTest) -> None:
    done = await rebalanced(control.operator(), dry_run=True)
    assert (len(done["moves"]), done["dry_run"]) == (2, True)
    assert control.database.handovers == {}
    assert [note for note in control.database.audit if note.action == "fleet.rebalanced"] == []


async def test_a_tenants_token_moves_that_tenants_cameras_only(control: ControlUnderTest) -> None:
    done = await rebalanced(control.operator(tenant="t-02"))
    assert [move["camera_uuid"] for move in done["moves"]] == list(THEIRS)
    assert (await rebalanced(control.operator(tenant="t-03")))["moves"] == []
    assert set(control.database.handovers) == set(THEIRS)


@pytest.mark.parametrize("body", [{"dry_run": "yes"}, {"dryrun": True}, [], {"dry_run": None}])
async def test_bad_input_is_refused_and_moves_nothing(control: ControlUnderTest, body: Any) -> None:
    answer = await control.operator().post(PATH, body)
    assert answer.status_code in {400, 422}
    assert answer.json()["detail"]
    assert control.database.handovers == {}


async def test_the_owner_is_told_what_moves_when_its_successor_sees_it(control: ControlUnderTest) -> None:
    await rebalanced(control.operator())
    told = (await control.runner("r2").post("/v1/handovers", {"runner_id": "r2", "room": 9})).json()
    assert [each["camera_uuid"] for each in told["watch"]] == list(OURS)
    seen = {"runner_id": "r2", "room": 7, "shown": ["cam-1"]}
    assert (await control.runner("r2").post("/v1/handovers", seen)).status_code == 200
    own = (await control.runner("r1").post("/v1/handovers", {"runner_id": "r1", "room": 0})).json()
    assert (own["shown"], own["awaited"]) == (["cam-1"], ["cam-2"])
    assert own["moving"] == [{"camera_uuid": each, "version": 1} for each in OURS]


async def test_without_moves_the_answer_is_that_of_earlier_versions(control: ControlUnderTest) -> None:
    own = (await control.runner("r1").post("/v1/handovers", {"runner_id": "r1", "room": 0})).json()
    assert own.keys() == {"watch", "awaited", "shown"}


async def test_automatic_rounds_begin_after_an_interval_and_move_a_few(control: ControlUnderTest) -> None:
    rebalancer = Rebalancer(RebalanceService(control.store, control.journal), every=300.0, most=1)
    assert await rebalancer.tick() == 300.0
    assert control.database.handovers == {}
    assert await rebalancer.tick() == 300.0
    assert set(control.database.handovers) == {"cam-1"}
    await rebalancer.tick()
    assert set(control.database.handovers) == {"cam-1"}, "that one is under way"
