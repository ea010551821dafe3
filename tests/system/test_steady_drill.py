"""`streamward drill steady`, small: with leases that a machine which is far too slow can hold, nobody moves."""

import json
from pathlib import Path

from tests.support.namespaces import need_namespaces
from tests.support.processes import run


def test_bad_links_and_a_control_plane_that_stalls_move_no_camera(tmp_path: Path) -> None:
    need_namespaces()
    small = ("--seconds", "24", "--cameras", "3", "--ttl", "40", "--json")
    ended = run("drill", "steady", *small, data=tmp_path / "data")
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    told = json.loads(ended.stdout)
    assert told["changes"] == {}
    assert told["stalls"] > 1
    assert told["lost"] > 0
    assert told["detections"] > 0
