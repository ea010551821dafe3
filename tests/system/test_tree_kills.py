"""Any process of a runner is killed (−9) at a random moment: nothing of it is left, and leases are released only then.

`python -m tests.support.tree_kills 100 SEED 2` does the same a hundred times, and holds it to two seconds.
"""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KILLS = 12


def test_a_kill_of_any_process_leaves_nothing_behind_and_releases_only_then():
    seed = random.randrange(10**6)
    ran = subprocess.run(
        [sys.executable, "-m", "tests.support.tree_kills", str(KILLS), str(seed)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    outcomes = [json.loads(line) for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, f"seed {seed}\n{ran.stdout}\n{ran.stderr}"
    assert [outcome["faults"] for outcome in outcomes] == [[]] * KILLS
