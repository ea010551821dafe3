"""Finds movement by comparing pictures, cell by cell: noise and compression change pixels, things change cells."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streamward.model.zone import Point
from streamward.vision.zones import Zones

_CELL = 8  # pixels across and down
_CHANGED = 5  # levels of brightness, of 255, that a cell's mean must change by


class PictureComparer:
    """The pictures of one camera; where nothing counts, nothing moves."""

    def __init__(self, zones: Zones) -> None:
        self._zones = zones
        self._before: NDArray[np.int32] | None = None
        self._counts: NDArray[np.bool_] | None = None

    def differs(self, image: NDArray[Any]) -> bool:
        """Whether a cell that counts differs from the picture before; the first does, and one of another size.

        So does one that is smaller than a cell: nobody can say that it does not.
        """
        cells = _cells(image)
        before, self._before = self._before, cells
        if cells.size == 0:
            return True
        if before is None or before.shape != cells.shape:
            self._counts = self._counted(cells.shape)
            return True
        assert self._counts is not None
        changed = np.abs(cells - before) > _CHANGED * _CELL * _CELL
        return bool((changed & self._counts).any())

    def _counted(self, shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """Which cells have their middle where things count, or an edge of such a zone in them: zones may be thin."""
        down, across = shape
        counted = np.array([
            [self._zones.counts(((x + 0.5) / across, (y + 0.5) / down)) for x in range(across)] for y in range(down)
        ])
        for x, y in self._edges(2 * max(shape)):
            if not self._zones.leave_out((x, y)):
                counted[min(int(y * down), down - 1), min(int(x * across), across - 1)] = True
        return counted

    def _edges(self, steps: int) -> Iterator[Point]:
        """Points on the edges of the zones in which things count, so many on each."""
        for zone in self._zones.wanted:
            for (x, y), (x2, y2) in pairwise((*zone.corners, zone.corners[0])):
                for step in range(steps):
                    yield x + (x2 - x) * step / steps, y + (y2 - y) * step / steps


def _cells(image: NDArray[Any]) -> NDArray[np.int32]:
    """The sum of green in each cell: it carries most of the brightness."""
    down, across = image.shape[0] // _CELL, image.shape[1] // _CELL
    green = image[: down * _CELL, : across * _CELL, 1]
    rows = np.add.reduce(green.reshape(down, _CELL, across * _CELL), axis=1, dtype=np.int32)
    cells: NDArray[np.int32] = np.add.reduce(rows.reshape(down, across, _CELL), axis=2)
    return cells
