"""Named places at which a test, or one setting, can stop, hold or break this process.

A module declares its points once and reaches them where it matters:

    COMMITTED = failpoints.declare("lease.after-commit")
    ...
    failpoints.reach(COMMITTED)

Nothing happens unless the point is armed: `lease.after-commit=pause:5, dial.after-commit=exit`. An armed point acts the
first time it is reached, or with `exit@20` the twentieth, and is then disarmed. `pause` holds the whole process, as a
frozen host would.
"""

import os
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NewType

from streamward.model.errors import StreamwardError

Failpoint = NewType("Failpoint", str)

_declared: set[Failpoint] = set()
_armed: "dict[Failpoint, Deed]" = {}

_DEED = re.compile(r"((?P<act>exit|raise)|pause:(?P<seconds>\d+(\.\d+)?))(@(?P<time>[1-9]\d{0,8}))?")


class Act(StrEnum):
    """What an armed point does."""

    EXIT = "exit"  # kill -9 of this process
    PAUSE = "pause"  # the process stands still
    RAISE = "raise"  # FailpointReached


@dataclass(frozen=True, slots=True)
class Deed:
    """An act, for a pause how many seconds, and the how many-th time."""

    act: Act
    seconds: float = 0.0
    time: int = 1


class FailpointReached(StreamwardError):
    """An armed point was reached that should raise."""

    def __init__(self, point: Failpoint) -> None:
        super().__init__(point)
        self.point = point

    def __str__(self) -> str:
        return f"failpoint {self.point}"


class UnknownFailpoint(StreamwardError):
    """A point was to be armed that no module declares."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no failpoint {self.name!r}; there are: {', '.join(sorted(_declared)) or 'none'}"


class MalformedFailpoint(StreamwardError):
    """A text that arms nothing."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"{self.text!r} is not <name>=exit, <name>=raise or <name>=pause:<seconds>, each with @<time> or without"


def declare(name: str) -> Failpoint:
    """Makes a name known, so that it can be armed."""
    point = Failpoint(name)
    _declared.add(point)
    return point


def declared() -> list[Failpoint]:
    """Every point of the modules loaded so far."""
    return sorted(_declared)


def reach(point: Failpoint) -> None:
    """Does what the point is armed for; nothing, and at next to no cost, if it is not."""
    if _armed and (deed := _armed.pop(point, None)) is not None:
        if deed.time > 1:
            _armed[point] = replace(deed, time=deed.time - 1)
        else:
            _do(point, deed)


def arm(deeds: Mapping[str, Deed]) -> None:
    """Arms these points and no others."""
    unknown = deeds.keys() - _declared
    if unknown:
        raise UnknownFailpoint(min(unknown))
    _armed.clear()
    _armed.update({Failpoint(name): deed for name, deed in deeds.items()})


def disarm() -> None:
    """No point does anything any more."""
    _armed.clear()


def parse(text: str) -> dict[str, Deed]:
    """Reads `name=deed, name=deed`."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    return dict(map(_parse, parts))


def _parse(part: str) -> tuple[str, Deed]:
    name, _, rest = part.partition("=")
    found = _DEED.fullmatch(rest)
    if found is None or not name:
        raise MalformedFailpoint(part)
    nth = int(found["time"] or 1)
    if found["act"]:
        return name, Deed(Act(found["act"]), time=nth)
    return name, Deed(Act.PAUSE, float(found["seconds"]), nth)


def _do(point: Failpoint, deed: Deed) -> None:
    match deed.act:
        case Act.EXIT:
            os.kill(os.getpid(), signal.SIGKILL)
        case Act.PAUSE:
            time.sleep(deed.seconds)
        case Act.RAISE:
            raise FailpointReached(point)
