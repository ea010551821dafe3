"""Processes that belong together, on Linux: nothing outlives its owner, and nobody else's process is ever signalled.

    a process dies ─→ its children go to the nearest ancestor that adopts orphans ─→ which ends and reaps them

Only direct children are signalled, own and adopted: a child that was not reaped keeps its pid, so a pid that a stranger
has by now cannot be hit. That is enough to end a whole tree, for the children of whoever dies come up to the adopter;
and "none is left" is the kernel's word (ECHILD), not that of a listing.

Not guaranteed: that a process dies which the kernel cannot end just now (it hangs in a device) or which belongs to
another user. One thread of a process may do these things. Imports next to nothing: a runner's parent lives on it.

    python -I …/process_tree.py PARENT COMMAND …

becomes a program that is not ours, and that dies with its parent like everything else.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator
from typing import Protocol

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_MOST_AWAITED = 64  # children whose death is awaited at once; any one of them will do
_AGAIN_AFTER = 0.1  # seconds after which those who did not die are signalled again


class Kin(Protocol):
    """The children of this process."""

    def kill(self) -> None:
        """SIGKILL to each that there is now."""
        ...

    def reap(self) -> bool:
        """Takes in those who died; returns whether none is left."""
        ...

    def wait(self, seconds: float) -> None:
        """Until one died, or that long."""
        ...


def adopt_orphans() -> None:
    """Makes this process the parent of whoever below it loses its own."""
    prctl(_PR_SET_CHILD_SUBREAPER, 1)


@contextlib.contextmanager
def ending_what_starts(*, within: float) -> Iterator[None]:
    """Kills and reaps, when the block ends, every process that was started in it and left behind."""
    others = frozenset(children())
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        end(Children(but=lambda: others), within=within)
        prctl(_PR_SET_CHILD_SUBREAPER, 0)


def die_with(parent: int, *, by: signal.Signals = signal.SIGKILL) -> None:
    """Has the kernel signal this process when its parent dies, which it was told is that one; at once if it is not.

    The kernel watches the thread that made this process: it must be one that lives as long as its process.
    """
    prctl(_PR_SET_PDEATHSIG, by)
    if os.getppid() != parent:  # it died before the line above
        os.kill(os.getpid(), by)


def outlive_parent() -> None:
    """Takes `die_with` back: this process has its own way to notice, and something to put in order first."""
    prctl(_PR_SET_PDEATHSIG, 0)


def children() -> list[int]:
    """The direct children of this process, own and adopted, with those who are dead but not reaped."""
    me = os.getpid()
    with os.scandir("/proc") as entries:
        pids = [int(entry.name) for entry in entries if entry.name.isdigit()]
    return [pid for pid in pids if _parent_of(pid) == me]


class Children:
    """The real ones, but for some that are somebody else's business."""

    def __init__(self, *, but: Callable[[], Collection[int]] = tuple) -> None:
        self._but = but

    def kill(self) -> None:
        for pid in self._pids():
            with contextlib.suppress(PermissionError):  # a program of another user
                os.kill(pid, signal.SIGKILL)

    def reap(self) -> bool:
        if self._but():
            left = [pid for pid in self._pids() if not _is_reaped(pid)]
            return not left
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    return False
            except ChildProcessError:
                return True

    def wait(self, seconds: float) -> None:
        deaths = select.poll()
        with contextlib.ExitStack() as opened:
            for pid in self._pids()[:_MOST_AWAITED]:
                death = os.pidfd_open(pid)
                opened.callback(os.close, death)
                deaths.register(death, select.POLLIN)
            deaths.poll(seconds * 1000)

    def _pids(self) -> list[int]:
        spared = self._but()
        return [pid for pid in children() if pid not in spared]


def end(kin: Kin, *, within: float | None = None, now: Callable[[], float] = time.monotonic) -> bool:
    """Kills and reaps until none is left, or for so many seconds; returns whether none is."""
    until = None if within is None else now() + within
    while not kin.reap():
        kin.kill()
        left = _AGAIN_AFTER if until is None else until - now()
        if left <= 0:
            return kin.reap()
        kin.wait(min(left, _AGAIN_AFTER))
    return True


def _is_reaped(pid: int) -> bool:
    return os.waitpid(pid, os.WNOHANG)[0] == pid


def _parent_of(pid: int) -> int | None:
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)
    except OSError:
        return None  # it ended meanwhile
    try:
        # `pid (name) state parent …`, where the name may hold anything
        return int(os.read(file, 512).rpartition(b") ")[2].split()[1])
    except (OSError, IndexError):
        return None
    finally:
        os.close(file)


def prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


if __name__ == "__main__":
    die_with(int(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606 - what our own Manager was told to start
