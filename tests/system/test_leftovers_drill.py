"""`streamward drill leftovers`, small: whoever is killed, all that it had is gone; how soon is for the drill."""

import json
from pathlib import Path

from tests.support.processes import run


def test_no_process_port_or_camera_session_outlives_a_kill_of_any_process(tmp_path: Path) -> None:
    ended = run("drill", "leftovers", "--kills", "4", "--cameras", "3", "--seed", "3", "--json", data=tmp_path / "data")
    assert ended.returncode in {0, 1}, ended.stderr  # 1: it was too slow for the objective
    kills = json.loads(ended.stdout)["kills"]
    assert [each["part"] for each in kills] == ["parent", "Manager", "fork server", "Worker"]
    assert all(after is not None for each in kills for after in each["gone_after"].values())
    assert sum(each["had"]["processes"] for each in kills) > 4
