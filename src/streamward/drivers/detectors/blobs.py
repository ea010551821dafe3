"""Boxes around pixels that touch."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from streamward.model.detection import Box


class _Run(NamedTuple):
    """Pixels beside each other in one row."""

    y: int
    x1: int
    x2: int


def blobs(mask: NDArray[np.bool_], *, smallest: int) -> Iterator[tuple[Box, int]]:
    """Boxes around pixels that touch, and how many there are."""
    runs = [_Run(int(y), x1, x2) for y in np.flatnonzero(mask.any(axis=1)) for x1, x2 in _spans(mask[y])]
    groups: dict[int, list[_Run]] = {}
    for run, number in zip(runs, _joined(runs), strict=True):
        groups.setdefault(number, []).append(run)
    for group in groups.values():
        pixels = sum(run.x2 - run.x1 for run in group)
        if pixels >= smallest:
            yield Box(min(run.x1 for run in group), group[0].y, max(run.x2 for run in group), group[-1].y + 1), pixels


def _joined(runs: list[_Run]) -> list[int]:
    """For each run the number of the group that it belongs to; runs come row by row."""
    leads = list(range(len(runs)))

    def lead(number: int) -> int:
        while leads[number] != number:
            leads[number] = number = leads[leads[number]]
        return number

    first = 0  # of the row above
    for number, run in enumerate(runs):
        while runs[first].y < run.y - 1:
            first += 1
        for other in range(first, number):
            above = runs[other]
            if above.y >= run.y:
                break
            if above.x1 < run.x2 and run.x1 < above.x2:
                leads[lead(number)] = lead(other)
    return [lead(number) for number in range(len(runs))]


def _spans(row: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate(([0], row.view(np.int8), [0]))))
    for place in range(0, len(edges), 2):
        yield int(edges[place]), int(edges[place + 1])
