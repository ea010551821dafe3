"""`streamward up`: a whole fleet that streams, keeps its cameras when a runner dies, and leaves nothing behind."""

import json
import os
import signal
from pathlib import Path

from tests.support.labs import children_of, until
from tests.support.ups import PATIENCE, up

OTHER = {"runner-a": "runner-b", "runner-b": "runner-a"}


def test_a_fleet_outlives_a_manager_ends_without_a_trace_and_can_be_started_smaller(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with up(data, "--cameras", "2") as fleet:
        fleet.until_said("all 2 cameras stream")
        first = str(fleet.leases()["cam-1"]["owner_id"])
        killed = fleet.command("runners", "kill", first)
        assert f"cam-1 streams at {OTHER[first]}, generation 2, " in killed.stdout, killed
        assert fleet.streams_at("cam-1", OTHER[first])
        fleet.until_said(f"moved from {first} to {OTHER[first]}, away for ")
        shown = [json.loads(line) for line in fleet.command("fleet", "--once", "--json").stdout.splitlines()]
        assert [each["camera_uuid"] for each in shown] == ["cam-1", "cam-2"]
        assert f"{OTHER[first]}: " in fleet.command("fleet", "--once").stdout
        fleet.until_said(f"{first} ended with exit code 137")
        fleet.until_said(f"{first} was started again")
        assert "another `streamward up`" in fleet.command("up").stderr
        assert fleet.ended(signal.SIGINT) == 0
        assert "everything ended; kept in" in fleet.said
        assert fleet.left() == []
    with up(data, "--cameras", "1") as fleet:
        fleet.until_said("the camera streams")
        assert "cam-2" in fleet.command("cameras", "list", "--disabled").stdout
        assert len(fleet.left()) > 5
        os.kill(min(children_of(fleet.process.pid)), signal.SIGKILL)  # the control plane, the first that was started
        code = fleet.until_said(r"to sign in, use its new code: streamward login \S+ --code (\S+)")[1]
        assert "signed in at" in fleet.command("login", "--code", code).stdout
        fleet.process.kill()
        fleet.process.wait()
        until(lambda: fleet.left() == [], within=PATIENCE)
