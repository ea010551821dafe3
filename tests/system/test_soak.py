"""`streamward drill soak`, small: what must never happen is judged here, how fast things are is judged by the drill."""

import json
import os
import signal
import subprocess
from pathlib import Path

from tests.support.labs import until
from tests.support.processes import COMMAND, RUN_WITHIN, end, environment, run


def test_a_worker_whose_cameras_misbehave_loses_and_doubles_nothing(tmp_path: Path) -> None:
    args = ("--seconds", "27", "--fault-every", "8", "--cameras", "4", "--max-fps", "3", "--json")
    ended = run("drill", "soak", *args, data=tmp_path / "data")
    assert ended.returncode in {0, 1}, ended.stderr  # 1: it was too slow for an objective
    told = json.loads(ended.stdout)
    assert [told[each] for each in ("repeated", "doubled", "missing", "lost")] == [0, 0, 0, 0]
    assert set(told["events"]) == {"cam-1", "cam-2", "cam-3", "cam-4"}
    assert told["ends"]["exit_code"] == 0
    assert told["ends"]["streaming"] == 4
    assert [each["name"] for each in told["faults"]] == ["mute", "recorder away"]
    assert told["faults"][1]["noticed_after"] is not None  # its connections were cut
    assert told["spreads"]["sent to consumer"]["count"] > 0


def test_a_worker_that_dies_ends_the_soak_with_a_sentence(tmp_path: Path) -> None:
    command = [*COMMAND, "drill", "soak", "--seconds", "20", "--cameras", "2", "--data", str(tmp_path)]
    said = tmp_path / "said"
    with said.open("wb") as err:
        soak = subprocess.Popen(command, env=environment(tmp_path / "none"), stderr=err)
    try:
        until(lambda: list(tmp_path.glob("soak-*/data/workers/*.json")), within=RUN_WITHIN)
        (card,) = tmp_path.glob("soak-*/data/workers/*.json")
        os.kill(json.loads(card.read_text())["pid"], signal.SIGKILL)
        assert soak.wait(RUN_WITHIN) == 1
    finally:
        end(soak)
    assert "`streamward worker` did not serve the drill: it ended with -9" in said.read_text()
    assert "Traceback" not in said.read_text()
