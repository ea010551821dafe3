"""Which thing of one picture is which of the pictures before: numbers that stay, also when one is missed for a while.

    tracks ─where each would be by now→ boxes ─matched with what was found, best overlap first→ the same number
                                                            └─ nobody's: a new number

Three rounds, each with what the one before left over: things of one label whose boxes overlap; things of one label that
are near and of a like size, for a small thing may move by more than its width between two looks; things in one place of
which the detector changed its mind. A track that was not found is kept for a while, by time and by looks, so that it
outlives a missed picture also where looks are seconds apart.

Boxes are in parts of the picture's width and height: a camera whose picture changes its size goes on.
Not guaranteed: that two things that pass each other are never exchanged. Only boxes are compared, not what is in them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from streamward.vision.detections import Detections, Mask, Numbers, overlaps

KEPT_FOR = 2.0  # seconds without being found, and
KEPT_LOOKS = 3  # so many looks: then a track is over
LONGEST_KEPT = 30.0  # seconds, however few looks there were
MOST = 1000  # tracks of one camera; those that were not found for the longest give way, then the newest
_LEAST_OVERLAP = 0.2
_SAME_PLACE = 0.6  # overlap of things that are one, though the detector calls them differently
_NEAR = 3.5  # widths or heights
_ALIKE = 1.5  # times as wide or high at most
_FORESEEN = 1.0  # seconds for which a track is thought to go on as it went
_FRESH = 0.5  # how much of a new measurement is believed
_LIKELY = 8  # rows that are tried for one track


Edges = tuple[float, ...]  # left, upper, right and lower


@dataclass(slots=True)
class Track:
    """One thing that is followed; in numbers of Python, which for so few are faster than arrays."""

    track_id: int
    label: str
    box: Edges
    seen_at: float
    speed: tuple[float, float] = (0.0, 0.0)  # parts of the picture a second
    missed: int = 0  # looks since

    def expected(self, at: float) -> Edges:
        """Where it would be by then."""
        ahead = min(at - self.seen_at, _FORESEEN)
        (x1, y1, x2, y2), x, y = self.box, self.speed[0] * ahead, self.speed[1] * ahead
        return x1 + x, y1 + y, x2 + x, y2 + y

    def found(self, label: str, box: Edges, at: float) -> None:
        """It is there."""
        passed = at - self.seen_at
        if passed > 0:
            before, now = _middle(self.box), _middle(box)
            x, y = ((to - fro) / passed for fro, to in zip(before, now, strict=True))
            self.speed = _FRESH * x + (1 - _FRESH) * self.speed[0], _FRESH * y + (1 - _FRESH) * self.speed[1]
        self.label, self.box, self.seen_at, self.missed = label, box, at, 0

    def is_over(self, at: float) -> bool:
        away = at - self.seen_at
        return away > LONGEST_KEPT or (away > KEPT_FOR and self.missed >= KEPT_LOOKS)


class Tracker:
    """One camera's tracks. Looks come in the order of time; numbers begin at 1 and are never given twice."""

    def __init__(self) -> None:
        self._tracks: list[Track] = []
        self._given = 0

    @property
    def track_ids(self) -> frozenset[int]:
        """What is followed, found at the last look or not."""
        return frozenset(track.track_id for track in self._tracks)

    def follow(self, seen: Detections, at: float) -> tuple[int, ...]:
        """The number of each thing that was seen."""
        self._tracks = [track for track in self._tracks if not track.is_over(at)]
        rows: dict[int, Track] = {}
        if self._tracks and len(seen):
            rows = {row: self._tracks[place] for place, row in self._matched(seen, at)}
        for track in self._tracks:
            track.missed += 1
        for row, (label, edges) in enumerate(zip(seen.labels, seen.xyxy.tolist(), strict=True)):
            box = tuple(edges)
            if row not in rows:
                self._given += 1
                self._tracks.append(Track(self._given, label, box, at))
                rows[row] = self._tracks[-1]
            rows[row].found(label, box, at)
        self._make_room()
        return tuple(rows[row].track_id for row in range(len(seen)))

    def _matched(self, seen: Detections, at: float) -> list[tuple[int, int]]:
        """Pairs of a track's place and a row."""
        expected = np.array([track.expected(at) for track in self._tracks])
        labels = np.array(seen.labels, object)
        is_same = np.array([track.label for track in self._tracks], object)[:, None] == labels[None]
        overlap = overlaps(expected, seen.xyxy)
        pairs = _best(overlap, is_same & (overlap >= _LEAST_OVERLAP))
        if len(pairs) == min(is_same.shape):
            return pairs
        last = np.array([track.box for track in self._tracks])
        nearness = np.maximum(_nearness(expected, seen.xyxy), _nearness(last, seen.xyxy))  # it may have turned round
        pairs += _best(nearness, is_same & (nearness > 0), taken=pairs)
        return [*pairs, *_best(overlap, overlap >= _SAME_PLACE, taken=pairs)]

    def _make_room(self) -> None:
        if len(self._tracks) > MOST:
            self._tracks = sorted(self._tracks, key=lambda track: (track.seen_at, -track.track_id))[-MOST:]


def _best(scores: NDArray[np.float64], may: Mask, *, taken: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    """Pairs of those that may go together and are not taken, the best first; each is in one pair at most."""
    places, rows = {place for place, _ in taken}, {row for _, row in taken}
    pairs = []
    for place, row in sorted(_likely(scores, may), key=lambda pair: -scores[pair]):
        if place not in places and row not in rows:
            pairs.append((place, row))
            places.add(place)
            rows.add(row)
    return pairs


def _likely(scores: NDArray[np.float64], may: Mask) -> Iterator[tuple[int, int]]:
    """Pairs that may go together; of many rows the best few for each place, or a crowd would take for ever."""
    if scores.shape[1] > _LIKELY:
        best = np.argpartition(-scores * may, _LIKELY, axis=1)[:, :_LIKELY]
        places = np.repeat(np.arange(len(best)), _LIKELY)
        likely = np.zeros_like(may)
        likely[places, best.reshape(-1)] = True
        may = may & likely
    yield from map(tuple, np.argwhere(may).tolist())


def _nearness(some: Numbers, others: Numbers) -> NDArray[np.float64]:
    """From 1 for boxes around one middle to 0 for those that are too far away, or of another size."""
    sizes, other_sizes = (np.maximum(boxes[:, 2:] - boxes[:, :2], 1e-6) for boxes in (some, others))
    ratio = sizes[:, None] / other_sizes[None]
    is_alike = ((ratio <= _ALIKE) & (ratio >= 1 / _ALIKE)).all(axis=2)
    away = np.abs(_middles(some)[:, None] - _middles(others)[None]) / ((sizes[:, None] + other_sizes[None]) / 2)
    nearness: NDArray[np.float64] = np.maximum(1 - away.max(axis=2) / _NEAR, 0) * is_alike
    return nearness


def _middle(box: Edges) -> tuple[float, float]:
    x1, y1, x2, y2 = box
    return (x1 + x2) / 2, (y1 + y2) / 2


def _middles(boxes: Numbers) -> Numbers:
    middles: Numbers = (boxes[:, :2] + boxes[:, 2:]) / 2
    return middles
