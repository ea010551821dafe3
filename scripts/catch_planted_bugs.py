"""Finds, for every planted bug, the first seed that catches it, and writes tests/simulation/caught.json."""

import json
import sys
from pathlib import Path

from streamward.drills.simulate import run
from streamward.drills.simulation.bugs import BUGS

CAUGHT = Path(__file__).parent.parent / "tests" / "simulation" / "caught.json"
MOST_SEEDS = 2000


def main() -> int:
    """Catches them all, or says which escaped."""
    caught: dict[str, int] = {}
    for name, bug in BUGS.items():
        failing = run(range(bug.first_seed, bug.first_seed + MOST_SEEDS), bug=name).failing
        print(f"{name:<34}{min(failing) if failing else 'ESCAPED'}", flush=True)
        if failing:
            caught[name] = min(failing)
    CAUGHT.write_text(json.dumps(caught, indent=2) + "\n")
    return 0 if caught.keys() == BUGS.keys() else 1


if __name__ == "__main__":
    sys.exit(main())
