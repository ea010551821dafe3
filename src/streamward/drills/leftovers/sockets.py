"""Which TCP sockets processes have, from what the kernel tells: where they listen, and from where they dialed."""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

_ESTABLISHED, _LISTENS = "01", "0A"
_INODE = re.compile(r"socket:\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Socket:
    """One of IPv4, as /proc/net/tcp tells it."""

    inode: int
    local: str  # address and port
    remote: str
    is_listening: bool


def parse(table: str) -> list[Socket]:
    """Those that listen or are connected."""
    rows = [line.split() for line in table.splitlines()[1:]]
    return [
        Socket(int(row[9]), _place(row[1]), _place(row[2]), row[3] == _LISTENS)
        for row in rows
        if row[3] in {_ESTABLISHED, _LISTENS}
    ]


def of(pids: Iterable[int]) -> dict[int, Socket]:
    """The sockets that processes have open, by inode."""
    inodes = {inode for pid in pids for inode in _inodes(pid)}
    return {each.inode: each for each in parse(Path("/proc/net/tcp").read_text()) if each.inode in inodes}


def listening(inodes: set[int]) -> set[int]:
    """Which of these still listen, whoever has them."""
    return {each.inode for each in parse(Path("/proc/net/tcp").read_text()) if each.is_listening} & inodes


def _inodes(pid: int) -> set[int]:
    names: list[str] = []
    with contextlib.suppress(OSError):  # it ended meanwhile
        names = [_name(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    return {int(match[1]) for name in names if (match := _INODE.fullmatch(name))}


def _name(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:  # closed meanwhile
        return ""


def _place(text: str) -> str:
    """`0100007F:1F90` for 127.0.0.1:8080: the address as the machine holds it, which is backwards on ours."""
    address, _, port = text.partition(":")
    return f"{IPv4Address(bytes.fromhex(address)[::-1])}:{int(port, 16)}"
