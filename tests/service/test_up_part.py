"""One part of `streamward up`: how it ended counts only if it lived until it was told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamward.up.part import Part, PartSpec
from tests.support.labs import until
from tests.support.processes import environment


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Part]:
    """A part that ended by itself, and badly: a Worker without a config."""
    spec = PartSpec(name="part", command=("worker",), environment=environment(tmp_path), log=tmp_path / "part.log")
    part = Part(spec)
    part.start()
    until(lambda: part.pid is None)
    yield part
    part.close()


def test_one_that_dies_while_it_should_live_has_not_ended_well(dead: Part) -> None:
    assert "ended with exit code 2" in str(dead.ended())
    assert not dead.end(within=60)


def test_one_that_was_dead_when_all_were_told_to_end_spoils_nothing(dead: Part) -> None:
    dead.tell_to_end()
    assert dead.end(within=60)
