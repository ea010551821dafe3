"""Workers of a fork server under test: what they are, told over their channel, and ways to end."""

import json
import os
import signal
import socket
import sys
import threading
from pathlib import Path

from streamward.runtime.blame import Board


def told(channel: socket.socket, _board: Board) -> int:
    """Says how it stands, then ends by a code of its own."""
    files = [int(file.name) for file in Path("/proc/self/fd").iterdir()]
    channel.sendall(
        json.dumps({
            "pid": os.getpid(),
            "parent": os.getppid(),
            "group": os.getpgid(0),
            "session": os.getsid(0),
            "files": sorted(file for file in files if Path(f"/proc/self/fd/{file}").exists()),
            "threads": threading.active_count(),
            "defaults": [signal.getsignal(each) == signal.SIG_DFL for each in (signal.SIGTERM, signal.SIGINT)],
            "modules": sorted({"fractions", "asyncio"} & set(sys.modules)),
        }).encode()
    )
    print("a line for the log", flush=True)
    return 7


def crashing(_channel: socket.socket, board: Board) -> int:
    """Dies as a decoder would."""
    with board.doing("cam-1"):
        pass
    with board.doing("cam-2"):
        os.kill(os.getpid(), signal.SIGSEGV)
    return 0


def waiting(channel: socket.socket, _board: Board) -> int:
    """Ends with its channel."""
    channel.sendall(b"up")
    return len(channel.recv(1))


def stubborn(channel: socket.socket, _board: Board) -> int:
    """Ends only by force."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel.sendall(b"up")
    while True:
        signal.pause()
