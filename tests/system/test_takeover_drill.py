"""`streamward drill takeover`, small: what must never happen is judged here, how fast it is is judged by the drill."""

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.support.bearers import bearers
from tests.support.labs import until
from tests.support.namespaces import need_namespaces
from tests.support.processes import COMMAND, environment, run


def drilled(tmp_path: Path, *args: str) -> dict[str, Any]:
    ended = run("drill", *args, "--cameras", "3", "--seed", "1", "--json", data=tmp_path / "data")
    assert ended.returncode in {0, 1}, ended.stderr  # 1: it was too slow for an objective
    told: dict[str, Any] = json.loads(ended.stdout)
    moved = [each for takeover in told["takeovers"] for each in takeover["moved"]]
    assert moved
    assert all(each["streaming_after"] is not None for each in moved)
    assert [told["fenced"][each] for each in ("stale", "shared")] == [0, 0]
    assert told["fenced"]["live"] > 0
    return told


def test_cameras_of_a_killed_runner_stream_at_another_and_no_detection_has_two_owners(tmp_path: Path) -> None:
    told = drilled(tmp_path, "takeover", "--kills", "2")
    assert len(told["takeovers"]) == 2
    assert told["parts"]["tree gone, leases given back"]["count"] > 0


def test_cameras_of_a_frozen_runner_stream_at_another_and_its_thaw_harms_nobody(tmp_path: Path) -> None:
    told = drilled(tmp_path, "takeover", "--how", "freeze", "--kills", "1", "--ttl", "5", "--renew-every", "1")
    assert "tree gone, leases given back" not in told["parts"]  # they had to run out


def test_cameras_of_a_runner_that_is_cut_off_stream_at_another(tmp_path: Path) -> None:
    need_namespaces()
    told = drilled(tmp_path, "takeover", "--how", "cut", "--kills", "1", "--ttl", "5", "--renew-every", "1")
    assert "tree gone, leases given back" not in told["parts"]


def test_a_drill_that_is_killed_takes_its_processes_with_it(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    command = [*COMMAND, "drill", "takeover", "--cameras", "3", "--data", str(kept)]
    with subprocess.Popen(command, env=environment(tmp_path / "data"), stderr=subprocess.PIPE) as drill:
        assert drill.stderr is not None
        assert b"2 runners start" in drill.stderr.readline()
        until(lambda: len(bearers(f"STREAMWARD_DATA={kept}/")) > 3)
        drill.kill()
    until(lambda: not bearers(f"STREAMWARD_DATA={kept}/"))


def test_cameras_of_a_drained_runner_are_handed_over(tmp_path: Path) -> None:
    assert len(drilled(tmp_path, "drain", "soft", "--times", "1")["takeovers"]) == 1
