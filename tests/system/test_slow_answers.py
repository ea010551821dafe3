"""A runner whose control plane answers late, as real processes: what streams on, and what goes to another."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.labs import Plant, plant, until
from tests.support.slow_proxy import SlowProxy, slow_proxy

LONG = 120.0  # seconds; each step of a start takes a delay


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "2") as made:
        yield made


@pytest.fixture
def way(lab: Plant) -> Iterator[SlowProxy]:
    with slow_proxy(int(lab.control.url.rpartition(":")[2])) as made:
        yield made


def versions(lab: Plant) -> dict[str, int]:
    listed = lab.control.command("leases", "list", "--json").stdout.splitlines()
    return {each["camera_uuid"]: each["version"] for each in map(json.loads, listed)}


def reasons(lab: Plant, camera: str) -> list[dict[str, Any]]:
    told: dict[str, Any] = json.loads(lab.control.command("cameras", "why", camera, "--json").stdout)
    return list(told["reasons"])


def expiry(lab: Plant) -> datetime:
    """Until when the cameras are leased, which grows with each renewal."""
    listed = lab.control.command("leases", "list", "--json").stdout.splitlines()
    return min(datetime.fromisoformat(each["expires_at"]) for each in map(json.loads, listed))


def test_a_fleet_starts_and_streams_without_a_gap_while_every_answer_is_four_seconds_late(lab: Plant, way: SlowProxy):
    way.delay = 4.0
    with lab.runner("slow", CONTROL_URL=way.url) as runner:
        until(lambda: runner.streaming() == set(lab.cameras), within=LONG)
        before = versions(lab)
        ended = len(runner.facts("stream.ended"))
        two_ttls_later = expiry(lab) + timedelta(seconds=16)
        until(lambda: expiry(lab) > two_ttls_later)
        assert versions(lab) == before, "each camera is still under the same grant"
        assert len(runner.facts("stream.ended")) == ended
        assert runner.facts("answers.too.late") == []


def test_a_runner_whose_answers_come_too_late_gives_its_cameras_to_one_beside_it(lab: Plant, way: SlowProxy):
    with lab.runner("near") as near:
        until(lambda: set(lab.owners().values()) == {"near"} and near.streaming() == set(lab.cameras))
        with lab.runner("far", CONTROL_URL=way.url) as far:
            until(lambda: far.facts("runner.serves"))
            lab.control.command("runners", "drain", "near", "hard")
            until(lambda: far.streaming() == set(lab.cameras))
            way.delay = 5.5
            lab.control.command("runners", "drain", "near", "none")
            until(lambda: set(lab.owners().values()) == {"near"}, within=LONG)
            until(lambda: far.facts("answers.too.late"))
            [late] = far.facts("answers.too.late")
            assert (late["level"], late["released"]) == ("warn", 2)


def test_a_camera_that_only_runners_with_late_answers_could_take_says_so(lab: Plant, way: SlowProxy):
    with lab.runner("far", CONTROL_URL=way.url) as far:
        until(lambda: far.streaming() == set(lab.cameras))
        way.delay = 5.5
        until(lambda: reasons(lab, lab.cameras[0])[-1]["code"] == "answers-late", within=LONG)
        assert "far receives the control plane's answers" in reasons(lab, lab.cameras[0])[-1]["detail"]
        way.delay = 0.0
        until(lambda: far.facts("answers.in.time"), within=LONG)
        until(lambda: set(lab.owners().values()) == {"far"})
