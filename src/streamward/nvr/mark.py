"""The mark in a picture's corner that says which scene and which of its frames it is, readable after compression.

    ┌ one cell ┐
    │ white    │ black │ then 8 bits of the scene, 16 of the frame, 8 of a check sum, in black and white
    └──────────┘

Cells are large and pure, so that even a coarse encoder leaves no doubt; a mark that does not check is none.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

CELL = 16  # pixels
_BITS = 32
_LEAD = (1, 0)
_ROWS = 2  # the cells stand in two rows

Image = NDArray[np.uint8]  # height, width, colour


def paint(image: Image, *, scene: int, frame: int) -> None:
    """Puts the mark into a picture."""
    cells = [*_LEAD, *_bits(scene, frame)]
    for place, bit in enumerate(cells):
        row, column = place % _ROWS, place // _ROWS
        image[row * CELL : (row + 1) * CELL, column * CELL : (column + 1) * CELL] = 235 if bit else 16


def read(image: NDArray[Any]) -> tuple[int, int] | None:
    """The scene and frame that a picture of full size says it is; None: it bears no mark."""
    cells = len(_LEAD) + _BITS
    bits = []
    for place in range(cells):
        row, column = place % _ROWS, place // _ROWS
        middle = image[row * CELL + 4 : (row + 1) * CELL - 4, column * CELL + 4 : (column + 1) * CELL - 4]
        bits.append(int(middle.size > 0 and middle.mean() > 125))
    if tuple(bits[: len(_LEAD)]) != _LEAD:
        return None
    value = int("".join(map(str, bits[len(_LEAD) :])), 2)
    scene, frame, check = value >> 24, (value >> 8) & 0xFFFF, value & 0xFF
    return (scene, frame) if check == _check(scene, frame) else None


def _bits(scene: int, frame: int) -> list[int]:
    value = (scene & 0xFF) << 24 | (frame & 0xFFFF) << 8 | _check(scene & 0xFF, frame & 0xFFFF)
    return [value >> place & 1 for place in range(_BITS - 1, -1, -1)]


def _check(scene: int, frame: int) -> int:
    return (scene * 31 + (frame & 0xFF) * 7 + (frame >> 8) * 13 + 0xA5) & 0xFF
