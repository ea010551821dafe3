"""Scenes as pixels."""

import numpy as np

from streamward.nvr import mark
from streamward.nvr.mark import Image
from streamward.nvr.scene import KINDS, Scene


class Canvas:
    """Draws the frames of one scene."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._ground = _ground(scene)

    def draw(self, frame: int) -> Image:
        """One frame, red, green and blue."""
        image = self._ground.copy()
        for label, box in self._scene.truth(frame):
            image[int(box.y1) : int(box.y2), int(box.x1) : int(box.x2)] = KINDS[label]
        mark.paint(image, scene=self._scene.number, frame=self._marked(frame % self._scene.picture.loop))
        return image

    def _marked(self, frame: int) -> int:
        """While nothing is there only the clock goes on, second by second, as in a camera's own picture."""
        picture = self._scene.picture
        return frame - frame % picture.fps if frame < picture.still_for else frame


def _ground(scene: Scene) -> Image:
    """Grey of changing brightness, and some grain, so that an encoder has something to do."""
    picture = scene.picture
    random = np.random.default_rng(scene.number)
    across = np.linspace(60, 150, picture.width)[None, :]
    down = np.linspace(-20, 20, picture.height)[:, None]
    grain = random.normal(0, 3, (picture.height, picture.width))
    grey = np.clip(across + down + grain, 16, 235).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)
