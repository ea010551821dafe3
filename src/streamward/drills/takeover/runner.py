"""One runner of a drill: its process tree, what can be done to it, and the logs of all its starts."""

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streamward.drills.roles import Role
from streamward.protocol.readiness import RunnerReady

_STOPPED_WITHIN = 10.0  # seconds
_STILL = "TtZX"  # states of a thread that does nothing: stopped, traced, dead


@dataclass(slots=True)
class Runner:
    """One that is there."""

    runner_id: str
    role: Role[RunnerReady]
    starts: list[Role[RunnerReady]] = field(default_factory=list)

    @property
    def is_loaded(self) -> bool:
        """Whether its present start has a Worker that waits."""
        return any(line.get("event") == "spare.started" for line in self.role.lines())

    @property
    def is_there(self) -> bool:
        """Whether its parent lives."""
        return self.role.process.poll() is None

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
            stop(more)
            stopped |= more

    def thaw(self) -> None:
        """Lets it go on."""
        send(signal.SIGCONT, tree(self.role.process.pid))


def ended(role: Role[Any]) -> None:
    """Ends a process, also one that stands still."""
    if role.process.poll() is None:
        send(signal.SIGCONT, tree(role.process.pid))
    role.end()


def send(number: signal.Signals, pids: Iterable[int]) -> None:
    """A signal to processes of ours, as far as they live."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def stop(pids: Iterable[int]) -> None:
    """SIGSTOP, and waits until they stand: a busy thread goes on for a moment after the signal."""
    stopping = set(pids)
    send(signal.SIGSTOP, stopping)
    until = time.monotonic() + _STOPPED_WITHIN
    while any(not _stands(pid) for pid in stopping) and time.monotonic() < until:
        time.sleep(0.001)


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


def _stands(pid: int) -> bool:
    """Whether every thread of a process has stopped; one that is dead has."""
    try:
        states = [(task / "stat").read_text().rpartition(") ")[2][0] for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # a thread ended meanwhile
        return not Path(f"/proc/{pid}").exists()
    return all(state in _STILL for state in states)
