"""Looks that last too long: which are given up, and when the process that they are stuck in is of no more use.

    a look lasts too long ─→ it is given up: its camera is told, and its answer counts no more
       ├─ others wait for that detector, which has answered others ─→ the process ends, and that camera is to blame
       └─ for a minute nobody here has been seen ─→ the process ends; another may do better

Guaranteed: a process in which somebody is seen is ended only for cameras that wait for a detector which works for
others. Not guaranteed: that a detector which is slow once is not taken for stuck; one that always is, is waited for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from streamward.model.ids import CameraId

SHORTEST = 10.0  # seconds that any look may last: models on a busy machine take one or two
FIRST = 30.0  # seconds for the first one of a detector, which may have something to load
LONGEST = 60.0  # seconds, however slow a detector is; and until a process in which nobody is seen is given up
_SLOWER = 5  # times as long as the slowest look so far may the next one last


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One picture before a detector."""

    camera_id: CameraId
    lasts: float  # seconds so far
    allowed: float

    @property
    def is_given_up(self) -> bool:
        return self.lasts >= self.allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Eye:
    """One detector at work."""

    cameras: frozenset[CameraId]  # that are shown to it
    answered: frozenset[CameraId]  # that it has ever come back from
    look: Look | None = None

    @property
    def is_stuck(self) -> bool:
        return self.look is not None and self.look.is_given_up


@dataclass(frozen=True, slots=True, kw_only=True)
class Hopeless:
    """Why a process should end: the look that it is stuck in, and whether that camera should be kept from others."""

    look: Look
    is_to_blame: bool


def allowed(slowest: float | None) -> float:
    """How many seconds a look may last at a detector whose slowest took so long; None: it never came back yet."""
    return FIRST if slowest is None else min(LONGEST, max(SHORTEST, slowest * _SLOWER))


def judge(eyes: Sequence[Eye]) -> Hopeless | None:
    """Whether a process with these detectors should end."""
    stuck = [(eye, eye.look) for eye in eyes if eye.look is not None and eye.look.is_given_up]
    for eye, look in stuck:
        itself = {look.camera_id}
        if eye.cameras - itself and eye.answered - itself:
            return Hopeless(look=look, is_to_blame=True)
    is_anybody_seen = any(eye.cameras for eye in eyes if not eye.is_stuck)
    for eye, look in stuck:
        if eye.cameras and look.lasts >= LONGEST and not is_anybody_seen:
            return Hopeless(look=look, is_to_blame=False)
    return None
