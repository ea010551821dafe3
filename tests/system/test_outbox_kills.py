"""A process with an outbox is killed (−9) at each step of append, publish, confirm and trim; another one goes on."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from streamward.client import payload
from streamward.drivers.objects.folder import FolderObjects
from streamward.model.bus import Delivery
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent
from tests.support.bus_process import QUEUE, bus_at
from tests.support.buses import bus_folder
from tests.support.outbox_process import MOST_BYTES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder() -> Iterator[Path]:
    with bus_folder() as folder:
        yield folder


def play(folder: Path, name: str, count: int, *points: str, away: bool = False) -> tuple[int, list[str]]:
    """Runs a process to its end; returns how it ended and what it had appended."""
    place = "away" if away else str(folder / "bus.sqlite")
    args = [place, str(folder / "spools"), name, str(count), *points]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.outbox_process", *args],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    return ended.returncode, ended.stdout.splitlines()


async def declared(folder: Path) -> None:
    bus = bus_at(str(folder / "bus.sqlite"))
    await bus.declare(QUEUE)
    await bus.close()


async def arrived(folder: Path) -> list[Delivery]:
    bus = bus_at(str(folder / "bus.sqlite"))
    consumer = bus.consume(QUEUE.name, prefetch=10_000)
    found: list[Delivery] = []
    while taken := await consumer.take(at_most=10_000, within=0.2):
        found += taken
        await consumer.ack(taken)
    await consumer.close()
    await bus.close()
    return found


POINTS = ("spool.before-append", "spool.after-append", "spool.after-handed", "spool.before-confirm", "spool.after-trim")
BUS_POINTS = ("bus.before-commit", "bus.after-commit")


@pytest.mark.parametrize("point", [*POINTS, *BUS_POINTS])
async def test_nothing_appended_is_lost_at_any_step(folder: Path, point: str) -> None:
    await declared(folder)
    code, appended = play(folder, "first", 250, f"{point}=exit")
    assert code == -signal.SIGKILL
    code, more = play(folder, "second", 5)
    assert code == 0
    seen = [each.message.message_id for each in await arrived(folder)]
    assert {*appended, *more} <= set(seen)
    assert len(set(seen) - {*appended, *more}) <= 1  # the one whose append did not return may be there
    assert list((folder / "spools").iterdir()) == []


@pytest.mark.parametrize("point", ["objects.before-rename", "objects.after-put", "bus.after-commit"])
async def test_an_event_that_is_too_large_is_not_lost_either(folder: Path, point: str) -> None:
    await declared(folder)
    code, appended = play(folder, "large-1", 12, f"{point}=exit")
    assert code == -signal.SIGKILL
    assert play(folder, "large-2", 3)[0] == 0
    pointers = {each.message.message_id: each.message for each in await arrived(folder)}
    assert {*appended, *(f"large-2-{number}" for number in range(3))} <= set(pointers)
    store = FolderObjects(folder / "objects")
    for message in pointers.values():
        named = replace(message, routing_key="detections.t-01.site-1.cam-1")
        event = codec.decode(await payload(named, store), DetectionEvent)
        assert (event.event_id, len(event.detections)) == (message.message_id, 5000)


@pytest.mark.parametrize("point", ["spool.before-truncate", "spool.before-merge-removal"])
async def test_what_gave_way_is_counted_once_whatever_was_killed(folder: Path, point: str) -> None:
    await declared(folder)
    code, appended = play(folder, "first", 2000, f"{point}=exit", away=True)
    assert code == -signal.SIGKILL
    assert len(appended) * 1000 > MOST_BYTES * 0.8
    assert play(folder, "second", 0)[0] == 0
    deliveries = {each.message.message_id: each.message for each in await arrived(folder)}
    lost = sum(int(message.body) for message in deliveries.values() if message.kind == "gap")
    assert len([each for each in deliveries.values() if each.kind == "event"]) + lost == len(appended)
    assert lost > 0
