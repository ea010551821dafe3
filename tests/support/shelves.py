"""Shelves for rings under test."""

import contextlib
import threading
from dataclasses import dataclass, field
from pathlib import Path

from streamward.drivers.clip_folder import ClipFolder
from streamward.vision.ring import Group, HeldGroup, Units


@dataclass
class Noted:
    """Notes what it is told of, by when it began."""

    put_at: list[float] = field(default_factory=list)
    forgotten_at: list[float] = field(default_factory=list)
    is_closed: bool = False

    def put(self, units: Units) -> Group:
        self.put_at.append(units[0].arrived_at)
        return _NotedGroup(self, units)

    def close(self) -> None:
        self.is_closed = True


@dataclass
class _NotedGroup:
    noted: Noted
    held: Units

    def units(self) -> Units:
        return HeldGroup(self.held).units()

    def forget(self) -> None:
        self.noted.forgotten_at.append(self.held[0].arrived_at)


def settled(folder: ClipFolder) -> None:
    """Waits until the thread has done all that it was told."""
    done = threading.Event()
    folder.do(done.set)
    assert done.wait(60)


def nameless_files(folder: Path, pid: int | str = "self") -> int:
    """How many files of that folder a process has open that have no name any more; one that ended has none."""
    try:
        links = [_link(entry) for entry in Path(f"/proc/{pid}/fd").iterdir()]
    except OSError:
        return 0
    return sum(link.startswith(f"{folder}/") and link.endswith(" (deleted)") for link in links)


def _link(entry: Path) -> str:
    with contextlib.suppress(FileNotFoundError):  # closed meanwhile
        return str(entry.readlink())
    return ""
