"""`streamward drill blackout`, small, both ways: how soon all is back is for the drill, that it is so for this."""

import json
from pathlib import Path
from typing import Any

from streamward.leases.policy import trusted_for
from tests.support.processes import run

TTL = 8.0
SMALL = ("--seconds", "16", "--cameras", "3", "--ttl", f"{TTL:g}", "--json")


def drilled(tmp_path: Path, *args: str) -> dict[str, Any]:
    ended = run("drill", "blackout", *SMALL, *args, data=tmp_path / "data")
    assert ended.returncode in {0, 1}, ended.stderr  # 1: a machine that is too busy took longer than it may
    told: dict[str, Any] = json.loads(ended.stdout)
    losses = told["losses"]
    assert losses["workers_ended"] or not any(losses.values()), ended.stdout  # who replaces one counts anew
    assert [told["fenced"][each] for each in ("stale", "shared")] == [0, 0], ended.stdout
    assert all(None not in each["back"].values() for each in told["each"]), ended.stdout
    assert sum(told["later"].values()) > 0
    return told


def test_without_a_control_plane_workers_stop_by_their_deadlines_and_come_back_with_it(tmp_path: Path) -> None:
    told = drilled(tmp_path)
    assert all(each["last"] is None or each["last"] <= trusted_for(TTL) for each in told["each"])
    assert told["sessions_until"] < told["away_for"] - 1.0


def test_those_who_go_on_are_accepted_by_the_fence_if_nobody_took_their_cameras(tmp_path: Path) -> None:
    told = drilled(tmp_path, "--on-control-loss", "continue-fenced")
    assert all(each["last"] is not None and each["last"] > TTL for each in told["each"])
    assert told["later"]["refused"] == 0 or any(each["is_moved"] for each in told["each"])


def test_a_blackout_that_is_over_before_leases_are_is_refused(tmp_path: Path) -> None:
    ended = run("drill", "blackout", "--seconds", "9", "--ttl", "8", data=tmp_path / "data")
    assert ended.returncode == 2
    assert "leases last 8 s" in ended.stderr
