"""Network namespaces that a drill makes itself: whoever lives in one reaches nothing but what the drill lets it.

Each is named after the drill's process. However a drill ends it removes its own; those of one that was killed (−9) are
removed by the next, with what still lives in them, and nothing else is ever touched. Needs root and the program `ip`
(Debian's iproute2).
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from streamward.model.errors import StreamwardError

PREFIX = "streamward-drill-"


class NoNamespace(StreamwardError):
    """This host does not let us make one."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return (
            f"cannot make a network namespace: {self.why}; this needs root, /dev/net/tun and `ip` "
            "(Debian's package iproute2), and in a container the capabilities NET_ADMIN and SYS_ADMIN"
        )


@contextlib.contextmanager
def namespace(called: str) -> Iterator[str]:
    """A fresh one, gone afterwards; its name."""
    name = f"{PREFIX}{os.getpid()}-{called}"
    ip("netns", "add", name)
    try:
        ip("-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        remove(name)


def entering(name: str) -> tuple[str, ...]:
    """What a command begins with that is to run in it."""
    return (_program(), "netns", "exec", name)


def sweep() -> list[str]:
    """Removes those of drills that are dead; their names."""
    stale = [name for name in names() if not _lives(name)]
    for name in stale:
        remove(name)
    return stale


def names() -> list[str]:
    """Those of all drills on this host."""
    found = (line.split()[0] for line in ip("netns", "list").splitlines() if line.strip())
    return [name for name in found if name.startswith(PREFIX)]


def remove(name: str) -> None:
    """Ends what lives in a namespace of a drill, and the namespace."""
    with contextlib.suppress(NoNamespace):
        for pid in ip("netns", "pids", name).split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        ip("netns", "delete", name)


def ip(*args: str) -> str:
    """What `ip` says."""
    ran = subprocess.run([_program(), *args], capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    if ran.returncode:
        raise NoNamespace(ran.stderr.strip() or f"`ip {' '.join(args)}` ended with {ran.returncode}")
    return ran.stdout


def _program() -> str:
    found = shutil.which("ip", path=f"{os.defpath}:/usr/sbin:/sbin")
    if found is None:
        raise NoNamespace("there is no program `ip`")
    return found


def _lives(name: str) -> bool:
    """Whether the drill does that made it."""
    pid = name.removeprefix(PREFIX).partition("-")[0]
    return pid.isdigit() and Path(f"/proc/{pid}").exists()
