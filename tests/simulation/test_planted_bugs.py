"""A simulator that catches no planted bug proves nothing: each one is caught, by a seed that is replayed here."""

import json
from pathlib import Path

import pytest

from streamward.drills.simulate import simulate
from streamward.drills.simulation.bugs import BUGS

# Found by `scripts/catch_planted_bugs.py`, which has to run again when the simulation itself changes.
CAUGHT: dict[str, int] = json.loads((Path(__file__).parent / "caught.json").read_text())

MOST_SEEDS = 2000


def test_there_are_enough_bugs_and_each_was_caught():
    assert len(BUGS) >= 15
    assert CAUGHT.keys() == BUGS.keys()
    assert all(0 <= CAUGHT[name] - bug.first_seed < MOST_SEEDS for name, bug in BUGS.items())


@pytest.mark.parametrize("name", sorted(BUGS))
def test_a_planted_bug_is_caught(name):
    assert simulate(CAUGHT[name], name).violations != ()


@pytest.mark.parametrize("seed", sorted(set(CAUGHT.values())))
def test_the_real_code_holds_where_a_bug_was_caught(seed):
    assert simulate(seed).violations == ()
