"""Scenes and the mark in their corner."""

import numpy as np
import pytest

from streamward.nvr import mark
from streamward.nvr.drawing import Canvas
from streamward.nvr.scene import KINDS, MARGIN, Picture, make_scene

SMALL = Picture(width=640, height=360, loop=50)


def test_a_scene_is_always_the_same():
    assert make_scene(3) == make_scene(3)
    assert make_scene(3) != make_scene(4)


@pytest.mark.parametrize("number", range(8))
def test_everything_stays_in_the_picture_and_clear_of_the_mark_and_of_each_other(number):
    scene = make_scene(number, SMALL)
    for frame in range(SMALL.loop):
        boxes = [box for _, box in scene.truth(frame)]
        for place, box in enumerate(boxes):
            assert 0 <= box.x1 < box.x2 <= SMALL.width
            assert MARGIN <= box.y1 < box.y2 <= SMALL.height
            assert all(box.overlap(other) == 0 for other in boxes[place + 1 :])


def test_things_move_and_come_back():
    scene = make_scene(1, SMALL)
    assert scene.truth(0) != scene.truth(1)
    assert scene.truth(0) == scene.truth(SMALL.loop)


def test_a_picture_shows_what_is_true():
    scene = make_scene(2, SMALL)
    image = Canvas(scene).draw(7)
    for label, box in scene.truth(7):
        middle = image[int(box.y1 + box.y2) // 2, int(box.x1 + box.x2) // 2]
        assert tuple(middle) == KINDS[label]


@pytest.mark.parametrize(("scene", "frame"), [(0, 0), (255, 65535), (7, 124), (1, 256)])
def test_a_mark_is_read_as_it_was_painted(scene, frame):
    image = np.full((360, 640, 3), 90, np.uint8)
    mark.paint(image, scene=scene, frame=frame)
    assert mark.read(image) == (scene, frame)


def test_what_bears_no_mark_is_not_read_as_one():
    random = np.random.default_rng(1)
    assert mark.read(np.full((360, 640, 3), 90, np.uint8)) is None
    assert mark.read(np.zeros((10, 10, 3), np.uint8)) is None
    assert sum(mark.read(random.integers(0, 255, (360, 640, 3), np.uint8)) is not None for _ in range(50)) <= 1
