"""A runner that is drained softly while another is there, as real processes: what is handed over, and how."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.labs import Plant, RunnerProcess, plant, until


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "3") as made:
        yield made


@pytest.fixture
def old(lab: Plant) -> Iterator[RunnerProcess]:
    with lab.runner("runner-a") as started:
        until(lambda: set(lab.owners().values()) == {"runner-a"} and started.streaming() == set(lab.cameras))
        yield started


@pytest.fixture
def new(lab: Plant, old: RunnerProcess) -> Iterator[RunnerProcess]:
    """Started beside the old one, as another version would be; it finds nothing to do."""
    assert old.process.poll() is None
    with lab.runner("runner-b") as started:
        until(lambda: started.facts("runner.serves"))
        lab.nvr.control.post("/counts/reset").raise_for_status()
        yield started
    lab.nvr.clear()
    lab.control.command("runners", "drain", "runner-a", "none")


def opened(lab: Plant) -> list[str]:
    """The sessions that the recorder counted, by camera."""
    counts: list[dict[str, Any]] = lab.nvr.control.get("/counts").json()["counts"]
    return sorted(each["camera"] for each in counts if each["deed"] == "session_opened" for _ in range(each["total"]))


def test_every_camera_is_seen_by_its_heir_before_it_is_let_go(lab: Plant, old: RunnerProcess, new: RunnerProcess):
    assert lab.control.command("runners", "drain", "runner-a", "soft").returncode == 0
    until(lambda: set(lab.owners().values()) == {"runner-b"})
    until(lambda: {each["camera_uuid"] for each in new.facts("bluegreen.cutover")} == set(lab.cameras))
    assert {each["has_shown"] for each in new.facts("bluegreen.cutover")} == {True}
    assert opened(lab) == sorted(lab.cameras), "one connection for each"
    until(lambda: {each["camera_uuid"] for each in old.facts("stream.ended")} == set(lab.cameras))


def test_a_recorder_without_a_second_session_is_let_go_first(lab: Plant, old: RunnerProcess, new: RunnerProcess):
    lab.nvr.set(kind="session_limit", most=len(lab.cameras))
    assert lab.control.command("runners", "drain", "runner-a", "soft").returncode == 0
    until(lambda: set(lab.owners().values()) == {"runner-b"} and new.streaming() == set(lab.cameras), within=180.0)
    until(lambda: {each["camera_uuid"] for each in old.facts("stream.ended")} == set(lab.cameras))
