"""A folder for the last seconds of cameras: whose it must be, and what a disk does to it that fails."""

import errno
import os
import threading
from typing import Any

import pytest

from streamward.drivers.clip_folder import ClipFolder, ClipFolderUnusable, ClipsNotWritten, checked
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Ring, Units
from tests.support.shelves import nameless_files, settled

MOST = 1000  # bytes of a camera


class FullDisk(ClipFolder):
    """Takes files, and nothing into them."""

    def file(self) -> int:
        return os.open("/dev/full", os.O_RDWR)


def group(number: int = 0) -> Units:
    key = ArrivedUnit(content=bytes([number] * 100), is_keyframe=True, arrived_at=float(number))
    return (key, ArrivedUnit(content=b"more", is_keyframe=False, arrived_at=number + 0.5))


@pytest.fixture
def troubles() -> list[Any]:
    return []


async def test_a_folder_is_made_for_its_owner_alone_and_nothing_is_found_in_it(tmp_path, troubles):
    path = tmp_path / "deep" / "clips"
    folder = ClipFolder(path, tell=troubles.append)
    shelf = folder.shelf(MOST)
    kept = shelf.put(group())
    settled(folder)
    assert (path.stat().st_mode & 0o777, list(path.iterdir()), nameless_files(path)) == (0o700, [], 1)
    assert kept.units() == group()
    shelf.close()
    settled(folder)
    assert (nameless_files(path), kept.units()) == (0, ())
    await folder.close()


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_that_others_can_change_is_refused(tmp_path, mode):
    path = tmp_path / "clips"
    path.mkdir()
    path.chmod(mode)
    with pytest.raises(ClipFolderUnusable, match="can be changed by others"):
        checked(path)


def test_a_link_is_refused_and_so_is_what_is_no_folder(tmp_path):
    (tmp_path / "own").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    (tmp_path / "file").touch()
    with pytest.raises(ClipFolderUnusable, match="is a link"):
        checked(tmp_path / "link")
    with pytest.raises(ClipFolderUnusable, match="cannot be used"):
        checked(tmp_path / "file")
    assert checked(tmp_path / "own") == str(tmp_path / "own")
    assert checked(None) is None


async def test_a_full_disk_is_told_once_and_what_it_did_not_take_is_not_shown(tmp_path, troubles):
    folder = FullDisk(tmp_path / "clips", tell=troubles.append)
    ring = Ring(seconds=30, most_bytes=MOST, shelf=folder.shelf(MOST))
    for number in range(4):
        for unit in group(number):
            ring.add(unit)
    settled(folder)
    assert [unit for each in ring.latest(30) for unit in each.units()] == list(group(3))  # which is still in memory
    assert folder.lost == 3
    assert [type(each) for each in troubles] == [ClipsNotWritten]
    assert os.strerror(errno.ENOSPC).lower() in str(troubles[0])
    ring.close()
    await folder.close()


async def test_a_folder_that_was_removed_costs_clips_and_nothing_else(tmp_path, troubles):
    path = tmp_path / "clips"
    folder = ClipFolder(path, tell=troubles.append)
    path.rmdir()
    kept = folder.shelf(MOST).put(group())
    settled(folder)
    assert (kept.units(), len(troubles)) == ((), 1)
    await folder.close()


async def test_what_a_slow_disk_cannot_take_is_dropped_while_nobody_waits(tmp_path, troubles):
    folder = ClipFolder(tmp_path / "clips", tell=troubles.append, most_waiting=250)
    shelf, disk_is_back = folder.shelf(MOST), threading.Event()
    folder.do(lambda: disk_is_back.wait(60))
    kept = [shelf.put(group(number)) for number in range(4)]  # two fit
    assert [each.units() for each in kept] == [group(0), group(1), (), ()]
    assert folder.lost == 2
    assert "too slow" in str(troubles[0])
    disk_is_back.set()
    settled(folder)
    assert [each.units() for each in (*kept, shelf.put(group(5)))] == [group(0), group(1), (), (), group(5)]
    shelf.close()
    await folder.close()


async def test_what_is_forgotten_before_it_is_written_never_is(tmp_path, troubles):
    folder = ClipFolder(tmp_path / "clips", tell=troubles.append)
    shelf, disk_is_back = folder.shelf(MOST), threading.Event()
    folder.do(lambda: disk_is_back.wait(60))
    kept = shelf.put(group())
    kept.forget()
    disk_is_back.set()
    settled(folder)
    assert (kept.units(), nameless_files(tmp_path / "clips")) == ((), 0)
    await folder.close()
