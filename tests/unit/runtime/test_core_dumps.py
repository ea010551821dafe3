"""Core dumps, as processes that forbade them and those that they started have them."""

import subprocess
import sys
from pathlib import Path

import pytest

SHOW = (
    "import ctypes, resource; print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE))"
)
FORBID = "from streamward.runtime import core_dumps; core_dumps.forbid()"
INHERIT = "from streamward.runtime import core_dumps; core_dumps.forbid_as_inherited()"
IN_A_FORK = "import os, sys; pid = os.fork(); pid and sys.exit(os.waitpid(pid, 0)[1])"


def shown(*lines: str, before: str = "pass") -> str:
    """What a program sees of itself after these lines; it is started by one that began with `before`."""
    start = f"{before}\nimport os, sys\nos.execv(sys.executable, [sys.executable, '-c', sys.argv[1]])"
    program = "\n".join([*lines, SHOW])
    return subprocess.run([sys.executable, "-c", start, program], capture_output=True, text=True, check=True).stdout


def test_a_process_that_forbids_them_has_no_room_for_them_and_is_not_dumpable():
    assert shown(FORBID) == shown(FORBID, IN_A_FORK) == "0 (0, 0)\n"


def test_a_program_that_it_starts_has_no_room_either_and_makes_itself_undumpable():
    assert shown(before=FORBID) == "1 (0, 0)\n"
    assert shown(INHERIT, before=FORBID) == "0 (0, 0)\n"


def test_a_core_of_a_program_that_it_starts_would_contain_no_memory():
    read = "print(open('/proc/self/coredump_filter').read().strip())"
    assert shown(read, before=FORBID).splitlines()[0] == "00000000"
    assert shown(read).splitlines()[0] == Path("/proc/self/coredump_filter").read_text().strip()


@pytest.mark.parametrize("lines", [(), (INHERIT,)])
def test_where_nothing_is_forbidden_everything_stays_as_it_was(lines: tuple[str, ...]):
    allowed = "import resource; resource.setrlimit(resource.RLIMIT_CORE, (0, 4096))"
    assert shown(*lines, before=allowed) == "1 (0, 4096)\n"
