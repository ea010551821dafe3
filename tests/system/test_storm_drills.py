"""`streamward drill dialstorm` and `drill reboot`, small: the budget is kept; how long it takes is for the drill."""

import json
from pathlib import Path

import pytest

from tests.support.media_servers import go2rtc_program
from tests.support.processes import run

KEPT = ("dials under way at once", "dials ahead of the budget", "cameras that stream")


DRILLS = {
    "dialstorm": ("dialstorm", "--slow", "0.2"),
    "reboot": ("reboot", "--down", "4"),
    "reboot in mode B": ("reboot", "--down", "4", "--go2rtc"),
}


@pytest.mark.parametrize("name", DRILLS)
def test_the_recorder_meets_no_more_dials_than_its_site_bears(name: str, tmp_path: Path) -> None:
    drill = (*DRILLS[name], go2rtc_program()) if DRILLS[name][-1] == "--go2rtc" else DRILLS[name]
    ended = run("drill", *drill, "--cameras", "13", "--json", data=tmp_path / "data")
    assert ended.returncode in {0, 1}, ended.stderr  # 1: a machine that is too busy took longer than it may
    account = json.loads(ended.stdout)
    judged = {each["name"]: each["is_met"] for each in account["objectives"]}
    assert {name: judged[name] for name in KEPT} == dict.fromkeys(KEPT, True), account
    assert len(account["shares"]) == 3
    assert account["dials"] >= 13
