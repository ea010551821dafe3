"""One part of `streamward up`: how it ended counts only if it lived until it was told to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from streamward.protocol.readiness import NvrReady, WorkerReady
from streamward.up.part import Part, PartEnded, PartSpec
from tests.support.labs import until
from tests.support.processes import environment


@pytest.fixture
def dead(tmp_path: Path) -> Iterator[Part[WorkerReady]]:
    """A part that ended by itself, and badly: a Worker without a config."""
    spec = PartSpec(
        name="part",
        command=("worker",),
        environment=environment(tmp_path),
        log=tmp_path / "part.log",
        ready=WorkerReady,
    )
    part = Part(spec)
    part.start()
    until(lambda: part.pid is None)
    yield part
    part.close()


def test_one_that_dies_while_it_should_live_has_not_ended_well(dead: Part[WorkerReady]) -> None:
    assert "ended with exit code 2" in str(dead.ended())
    assert not dead.end(within=60)


def test_one_that_was_dead_when_all_were_told_to_end_spoils_nothing(dead: Part[WorkerReady]) -> None:
    dead.tell_to_end()
    assert dead.end(within=60)


def test_one_that_ends_before_it_serves_is_reported_with_its_log(dead: Part[WorkerReady]) -> None:
    assert dead.poll_ready() is None
    with pytest.raises(PartEnded, match=r"ended with exit code 2; .*part\.log:\n  streamward: name a config"):
        dead.wait_ready()


def test_one_that_is_started_again_sends_a_message_of_its_own(tmp_path: Path) -> None:
    small = ("--width", "320", "--height", "192", "--scenes", "1", "--port", "0", "--control-port", "0")
    spec = PartSpec(
        name="cameras",
        command=("nvr", "--cameras", "1", *small),
        environment=environment(tmp_path),
        log=tmp_path / "cameras.log",
        ready=NvrReady,
    )
    part = Part(spec)
    messages = []
    for _ in range(2):
        part.start()
        messages.append(part.wait_ready())
        assert part.poll_ready() is messages[-1]
        assert part.pid == messages[-1].pid
        part.tell_to_end()
        assert part.end(within=60)
        assert part.poll_ready() is None
    assert messages[0] != messages[1]
