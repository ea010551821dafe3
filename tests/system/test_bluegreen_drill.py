"""`streamward drill bluegreen`, small: every camera is passed on by one connection; pictures are for the drill."""

import json
from pathlib import Path

from tests.support.processes import run


def test_workers_are_replaced_and_every_camera_dials_once(tmp_path: Path) -> None:
    small = ("--times", "1", "--kills", "1", "--drains", "1", "--cameras", "4", "--json")
    ended = run("drill", "bluegreen", *small, data=tmp_path / "data")
    assert ended.returncode in {0, 1}, ended.stderr  # 1: a machine that is too busy lost or doubled pictures
    done = json.loads(ended.stdout)["replacements"]
    assert [each["change"] for each in done] == ["replace", "replace", "kill", "kill", "drain", "drain"]
    assert all(each["took"] is not None for each in done)
    assert sum(len(each["handovers"]) for each in done[:2]) == 4
    assert sum(each["dials"] for each in done[:2]) == 4
    # The first gives what it has to the second, which then gives all to the first.
    assert len(done[5]["handovers"]) == done[5]["dials"] == 4
