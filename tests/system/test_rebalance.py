"""`streamward fleet rebalance` on real processes: a runner that starts late gets its share, without a gap."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest

from streamward.leases.handover import WATCHED_FOR
from tests.support.labs import Plant, RunnerProcess, plant, until

CAMERAS = 12


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", str(CAMERAS)) as made:
        yield made


@pytest.fixture
def old(lab: Plant) -> Iterator[RunnerProcess]:
    with lab.runner("runner-a") as started:
        until(lambda: set(lab.owners().values()) == {"runner-a"} and started.streaming() == set(lab.cameras))
        yield started


@pytest.fixture
def new(lab: Plant, old: RunnerProcess) -> Iterator[RunnerProcess]:
    assert old.process.poll() is None
    with lab.runner("runner-b") as started:
        until(lambda: started.facts("runner.serves"))
        lab.nvr.control.post("/counts/reset").raise_for_status()
        yield started
    lab.nvr.clear()


def shares(lab: Plant) -> Counter[str | None]:
    return Counter(lab.owners().values())


def opened(lab: Plant) -> list[str]:
    """The sessions that the recorder counted, by camera."""
    counts: list[dict[str, Any]] = lab.nvr.control.get("/counts").json()["counts"]
    return sorted(each["camera"] for each in counts if each["deed"] == "session_opened" for _ in range(each["total"]))


def moment(fact: dict[str, Any]) -> float:
    return datetime.fromisoformat(fact["ts"]).timestamp()


def rebalanced(lab: Plant, *options: str) -> dict[str, Any]:
    done = lab.control.command("fleet", "rebalance", "--json", *options)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def grants(lab: Plant, camera: str) -> list[tuple[int, str]]:
    shown = json.loads(lab.control.command("leases", "show", camera, "--json").stdout)
    return [(each["version"], each["owner_id"]) for each in reversed(shown["grants"])]


def test_a_runner_that_started_late_gets_half_of_the_cameras_without_a_gap(
    lab: Plant, old: RunnerProcess, new: RunnerProcess
):
    before = {camera: grants(lab, camera) for camera in lab.cameras}
    plan = rebalanced(lab, "--dry-run")
    assert (len(plan["moves"]), plan["left"], plan["runners"]) == (6, 0, {"runner-a": 6, "runner-b": 6})
    assert shares(lab) == {"runner-a": CAMERAS}, "a dry run moves nothing"
    done = rebalanced(lab, "--wait")
    assert (len(done["moved"]), done["stayed"], done["left"]) == (6, [], 0)
    assert shares(lab) == done["runners"] == {"runner-a": 6, "runner-b": 6}
    moved = {each["camera_uuid"] for each in done["moved"]}
    assert opened(lab) == sorted(moved), "one connection for each that moved, none for others"
    cutovers = {each["camera_uuid"]: each for each in new.facts("bluegreen.cutover")}
    assert cutovers.keys() == moved
    assert {each["has_shown"] for each in cutovers.values()} == {True}
    until(lambda: {each["camera_uuid"] for each in old.facts("stream.ended")} == moved)
    gaps = [moment(cutovers[each["camera_uuid"]]) - moment(each) for each in old.facts("stream.ended")]
    assert max(gaps) < WATCHED_FOR, "the successor was there"
    for camera in lab.cameras:
        now = grants(lab, camera)
        expected = [(before[camera][-1][0] + 1, "runner-b")] if camera in moved else []
        assert now == [*before[camera], *expected], "one more grant, of the next generation"
    again = rebalanced(lab, "--wait")
    assert (again["moved"], again["stayed"], again["left"]) == ([], [], 0)


def test_cameras_whose_recorder_has_no_second_session_stay_and_that_is_said(
    lab: Plant, old: RunnerProcess, new: RunnerProcess
):
    until(lambda: None not in shares(lab))
    assert shares(lab) == {"runner-a": CAMERAS}
    lab.nvr.set(kind="session_limit", most=CAMERAS)
    done = lab.control.command("fleet", "rebalance", "--wait")
    assert done.returncode == 1
    assert "6 cameras did not move in time" in done.stderr
    assert "cameras why" in done.stderr
    assert shares(lab) == {"runner-a": CAMERAS}
    assert old.facts("stream.ended") == []
    assert new.facts("bluegreen.cutover") == []
