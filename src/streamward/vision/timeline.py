"""When the pictures of a clip are sent and shown, in seconds from when its first is shown.

Their order and pace are those of the camera's own clock: they arrive in bursts, and with some encoders not in the order
in which they are shown. That clock may jump, begin anew with each connection, or be of no use; then arrival counts.

Guaranteed: what is sent later has a later time to be sent, no picture is shown before it is sent, and no two at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from streamward.vision.lane import ArrivedUnit

FORWARD_JUMP = 5.0  # seconds between two pictures that are no pause any more
BACKWARD_JUMP = 1.0  # seconds: pictures that are shown before the one sent first go back by less
_APART = 0.001  # seconds between two pictures at the least
_ASTRAY = 2.0  # seconds by which both clocks may differ in a clip, or a quarter of it: a new client gets old pictures


@dataclass(frozen=True, slots=True)
class Moment:
    """Of one picture."""

    sent: float
    shown: float


def timeline(units: Sequence[ArrivedUnit]) -> list[Moment]:
    """A moment for each of some units, which begin with a keyframe, in the order in which they came."""
    told = _told(units)
    shown = told if _is_likely(told, units) else _paced(units, told)
    sent = sorted(shown)
    late = max(
        before - after for before, after in zip(sent, shown, strict=True)
    )  # so much before, that none comes too late
    return [Moment(before - sent[0] - late, after - sent[0]) for before, after in zip(sent, shown, strict=True)]


def _told(units: Sequence[ArrivedUnit]) -> list[float]:
    """By the camera's clock, as if it had never jumped; if it says nothing, each picture follows the one before."""
    marks = [unit.shown_at or 0.0 for unit in units]
    told, latest, offset = [marks[0]], marks[0], 0.0
    for (before, unit), (mark, following) in zip(pairwise(units), pairwise(marks), strict=True):
        is_jump = not -BACKWARD_JUMP <= following - mark <= FORWARD_JUMP
        if is_jump or unit.shown_at is None:
            offset = latest + max(_APART, unit.arrived_at - before.arrived_at) - following
        told.append(following + offset)
        latest = max(latest, told[-1])
    return told


def _is_likely(told: list[float], units: Sequence[ArrivedUnit]) -> bool:
    """Whether all is told, and takes about as long as the units took to come, with no two at once."""
    if any(unit.shown_at is None for unit in units):
        return False
    ordered = sorted(told)
    least = min((after - before for before, after in pairwise(ordered)), default=_APART)
    span = units[-1].arrived_at - units[0].arrived_at
    return least >= _APART / 2 and abs(ordered[-1] - ordered[0] - span) <= max(_ASTRAY, span / 4)


def _paced(units: Sequence[ArrivedUnit], told: list[float]) -> list[float]:
    """By arrival, in the order that the camera's clock tells."""
    arrived = [units[0].arrived_at]
    for unit in units[1:]:
        arrived.append(max(unit.arrived_at, arrived[-1] + _APART))
    shown = [0.0] * len(units)
    for place, moment in zip(sorted(range(len(units)), key=lambda place: told[place]), arrived, strict=True):
        shown[place] = moment
    return shown
