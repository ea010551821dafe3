"""The last seconds of cameras, in memory and in a folder: the same units, clips and pictures."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

import pytest

from streamward.drivers.clip_folder import ClipFolder
from streamward.drivers.cutting import PyAvCutter
from streamward.model.ids import CameraId
from streamward.model.video import NAL_CODECS
from streamward.runner.recent import NothingToShow, Recent
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Memory, Ring, Shelf, Units
from tests.support.footage import Deaf, filmed
from tests.support.shelves import settled

CAMERA = CameraId("cam-1")
MOST = 100_000  # bytes


@dataclass
class World:
    """Where shelves come from, and how to wait until what they were given lies there."""

    shelf: Callable[[], Shelf]
    settle: Callable[[], None]


@pytest.fixture(params=["memory", "folder"])
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    if request.param == "memory":
        yield World(Memory, lambda: None)
        return
    troubles: list[Exception] = []
    folder = ClipFolder(tmp_path / "clips", tell=troubles.append)
    yield World(lambda: folder.shelf(MOST), lambda: settled(folder))
    await folder.close()
    assert not troubles


def units_in(ring: Ring, seconds: float) -> Units:
    return tuple(unit for group in ring.latest(seconds) for unit in group.units())


def _ring(shelf: Callable[[], Shelf]) -> Ring:
    return Ring(seconds=30, most_bytes=MOST, shelf=shelf())


def some_units(random: Random, count: int) -> list[ArrivedUnit]:
    """Of all sizes; groups of up to 60."""
    return [
        ArrivedUnit(
            content=random.randbytes(random.randrange(1, 3000)),
            is_keyframe=number == 0 or random.random() < 1 / 30,
            arrived_at=number / 25,
            shown_at=random.choice([None, number / 24]),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize("seed", range(4))
async def test_what_is_kept_is_what_came(world, seed):
    random = Random(seed)
    units = some_units(random, 2000)
    ring = Ring(seconds=5, most_bytes=MOST, shelf=world.shelf())
    for number, unit in enumerate(units):
        ring.add(unit)
        if random.random() < 0.02:
            world.settle()
        if random.random() < 0.05:
            kept = units_in(ring, random.choice([1, 3, 100]))
            assert kept == tuple(units[number + 1 - len(kept) : number + 1])
            assert sum(len(unit.content) for unit in kept) <= MOST
            assert not kept or kept[0].is_keyframe
    ring.close()


async def test_what_was_forgotten_is_gone_even_for_those_who_still_know_of_it(world):
    ring = Ring(seconds=5, most_bytes=MOST, shelf=world.shelf())
    for unit in some_units(Random(1), 100):
        ring.add(unit)
    world.settle()
    ring.close()
    world.settle()
    assert units_in(ring, 100) == ()


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_clips_and_pictures_are_the_same_bytes(world, codec):
    made = []
    for shelf in (Memory, world.shelf):
        recent = Recent(partial(_ring, shelf), PyAvCutter())
        heard = recent.hearing(CAMERA, Deaf())
        heard.playing(codec)
        for unit in filmed(codec):
            heard.unit(unit)
        world.settle()
        made.append((await recent.clip(CAMERA, seconds=3), await recent.snapshot(CAMERA, has_boxes=False)))
        recent.drop(CAMERA)
        with pytest.raises(NothingToShow):
            await recent.clip(CAMERA, seconds=3)
    assert made[0] == made[1]
