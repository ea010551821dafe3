"""A file that says which process of this host is which runner, for commands that are about a process.

Not guaranteed: that it is there only while the runner lives. Whoever reads it is told of the very process that wrote
it, or of none: a number that a stranger has by now does not count.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from streamward.runtime import private_file


class RunnerCard(msgspec.Struct, frozen=True, kw_only=True):
    """A runner's processes."""

    parent: int
    manager: int
    began: int  # ticks of the kernel's clock at which the Manager did

    def tree(self) -> list[int]:
        """All of its processes now, from the top down."""
        return _tree(self.parent)


@contextlib.contextmanager
def shown(data: Path, runner_id: str) -> Iterator[None]:
    """This process is that runner's Manager, for as long as this lasts."""
    path = _place(data, runner_id)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    card = RunnerCard(parent=os.getppid(), manager=os.getpid(), began=_began(os.getpid()) or 0)
    private_file.replace(path, msgspec.json.encode(card))
    try:
        yield
    finally:
        if find(data, runner_id) == card:  # not of a start that has taken its place
            path.unlink(missing_ok=True)


def find(data: Path, runner_id: str) -> RunnerCard | None:
    """The runner of that name that lives on this host with this data folder."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        card = msgspec.json.decode(_place(data, runner_id).read_bytes(), type=RunnerCard)
        if _began(card.manager) == card.began:
            return card
    return None


def _place(data: Path, runner_id: str) -> Path:
    return data / "runners" / f"{runner_id}.json"


def _began(pid: int) -> int | None:
    """When a process began; None: there is none."""
    with contextlib.suppress(OSError):
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        return None if state in "ZX" else int(rest[18])
    return None


def _tree(pid: int) -> list[int]:
    return [pid, *(each for child in _children(pid) for each in _tree(child))]


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    return []
