"""How a command finds the processes of a runner of this host."""

import os
from pathlib import Path

import msgspec

from streamward.runner import card


def test_a_runner_is_found_while_it_lives(tmp_path: Path):
    assert card.find(tmp_path, "runner-a") is None
    with card.shown(tmp_path, "runner-a"):
        found = card.find(tmp_path, "runner-a")
        assert found is not None
        assert (found.manager, found.parent) == (os.getpid(), os.getppid())
        assert os.getpid() in found.tree()
        assert card.find(tmp_path, "runner-b") is None
    assert card.find(tmp_path, "runner-a") is None


def test_a_process_that_began_at_another_time_is_a_stranger(tmp_path: Path):
    with card.shown(tmp_path, "runner-a"):
        path = tmp_path / "runners" / "runner-a.json"
        ours = msgspec.json.decode(path.read_bytes(), type=card.RunnerCard)
        path.write_bytes(msgspec.json.encode(msgspec.structs.replace(ours, began=ours.began - 1)))
        assert card.find(tmp_path, "runner-a") is None
    assert path.exists(), "another start's"


def test_what_cannot_be_read_names_nobody(tmp_path: Path):
    (tmp_path / "runners").mkdir()
    (tmp_path / "runners" / "runner-a.json").write_text("{")
    assert card.find(tmp_path, "runner-a") is None
