"""A command at a terminal, as a person sits there."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from pathlib import Path

from tests.support.processes import COMMAND, environment

WITHIN = 60.0  # seconds


def at_terminal(
    *args: str, data: Path, columns: int, typed: tuple[str, bytes] | None = None, **settings: object
) -> tuple[int, str]:
    """Runs a command with a terminal of so many columns; types an answer once the question is there.

    Returns its exit code and what stood on the screen.
    """
    screen, inside = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *args],
        env={name: value for name, value in environment(data, **settings).items() if name != "COLUMNS"},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
        preexec_fn=_own_terminal,  # noqa: PLW1509 - it only makes system calls
    )
    os.close(inside)
    seen = b""
    try:
        while piece := _read(screen):
            seen += piece
            if typed is not None and typed[0].encode() in seen:
                os.write(screen, typed[1])
                typed = None
        return process.wait(WITHIN), seen.decode().replace("\r\n", "\n")
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def _own_terminal() -> None:
    """Makes the terminal the one whose Ctrl-C ends the process, also if whoever runs the tests ignores it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a child that ignores it would never hear it
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read(screen: int) -> bytes:
    if not select.select([screen], [], [], WITHIN)[0]:
        raise TimeoutError("nothing more came to the screen")
    try:
        return os.read(screen, 65_536)
    except OSError:  # how Linux says that the last program at a terminal has ended
        return b""
