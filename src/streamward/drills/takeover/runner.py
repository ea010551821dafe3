"""One runner of a drill: its process tree, what can be done to it, and the logs of all its starts."""

import contextlib
import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamward.drills.roles import Role


@dataclass(slots=True)
class Runner:
    """One that is there."""

    runner_id: str
    role: Role
    starts: list[Role] = field(default_factory=list)

    @property
    def is_loaded(self) -> bool:
        """Whether its present start has a Worker that waits."""
        return any(line.get("event") == "worker.spawn" for line in self.role.lines())

    def lines(self) -> list[dict[str, Any]]:
        """What was logged in all its starts."""
        return [line for role in self.starts for line in role.lines()]

    def kill(self) -> None:
        """SIGKILL to its Manager."""
        os.kill(children(self.role.process.pid)[0], signal.SIGKILL)

    def freeze(self) -> None:
        """SIGSTOP to everything of it, from its parent down; none of them is still to fork when all stand."""
        stopped: set[int] = set()
        while more := set(tree(self.role.process.pid)) - stopped:
            send(signal.SIGSTOP, more)
            stopped |= more

    def thaw(self) -> None:
        """Lets it go on."""
        send(signal.SIGCONT, tree(self.role.process.pid))


def ended(role: Role) -> None:
    """Ends a process, also one that stands still."""
    if role.process.poll() is None:
        send(signal.SIGCONT, tree(role.process.pid))
    role.end()


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """A signal to processes of ours, as far as they live."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def tree(pid: int) -> list[int]:
    """A process of ours and all below it, from the top."""
    return [pid, *(each for child in children(pid) for each in tree(child))]


def children(pid: int) -> list[int]:
    """Those of a process of ours."""
    try:
        return [
            int(child)
            for task in Path(f"/proc/{pid}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:  # it ended meanwhile
        return []
