"""Core dumps are forbidden to processes that hold secrets: a core contains camera passwords, keys and tokens.

    limit 0 (RLIMIT_CORE)    children inherit it, through exec too; ignored if the host pipes cores to a program
    not dumpable (prctl)     holds there too, and no process of the same user can attach; forks inherit it, exec ends it
    no memory in cores       /proc/self/coredump_filter is 0; children inherit it, through exec too: for programs that
                             are not ours (go2rtc) and hold passwords, on a host that pipes cores to a program

So a program that such a process starts calls `forbid_as_inherited` first. `/proc/PID` of a process that is not dumpable
belongs to root: another user still reads `stat`, `statm`, `status` and `task`, but not `environ`, `fd` and `smaps`.
"""

import contextlib
import resource
from pathlib import Path

from streamward.runtime import process_tree

_PR_SET_DUMPABLE = 4
_FILTER = Path("/proc/self/coredump_filter")


def forbid() -> None:
    """For this process, and as far as the kernel passes it on, for all that it starts."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):  # a kernel without core dumps, or already not dumpable: the file is root's
        _FILTER.write_text("0")
    process_tree.prctl(_PR_SET_DUMPABLE, 0)


def forbid_as_inherited() -> None:
    """What our parent decided holds for us: it set the hard limit to 0, or left it as it was."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        forbid()
