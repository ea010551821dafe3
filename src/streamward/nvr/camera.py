"""One simulated camera: a reel that runs by a clock, whoever watches.

    reel ─shoot→ Shot (number, packets, timestamp) ─→ every viewer
                   └─ kept from the latest keyframe on, for those who come now

The running number counts every picture that the camera took since it was switched on; a `Timeline` remembers which
picture of which reel each one was, also over freezes and changes of codec. When the newest were taken is kept too, for
whoever measures the way of a picture by what it shows.
"""

from array import array
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from streamward.nvr.reel import Reel
from streamward.protocol import sei
from streamward.protocol.rtp.writer import Packets
from streamward.protocol.rtsp.sdp import CLOCK_RATE

MOST_RUNS = 512
MOST_TIMES = 512  # of the newest pictures: 20 s at 25 a second


class Shot(NamedTuple):
    """A picture as it is sent."""

    number: int
    packets: Packets
    ticks: int  # of the RTP clock, without a client's own offset
    payload_type: int
    sent_at: float  # seconds since 1970


class Moment(NamedTuple):
    """Which picture of a reel a running number was."""

    reel: Reel
    place: int


@dataclass(frozen=True, slots=True)
class _Run:
    """Pictures one after the other, or one again and again."""

    first: int
    reel: Reel
    place: int
    step: int

    def at(self, number: int) -> Moment:
        """The moment of a running number."""
        place = self.place + (number - self.first) * self.step
        return Moment(self.reel, place % len(self.reel.units))


class Timeline:
    """Runs of pictures, the newest ones."""

    def __init__(self) -> None:
        self._runs: deque[_Run] = deque(maxlen=MOST_RUNS)

    def note(self, number: int, reel: Reel, place: int, *, step: int) -> None:
        """This picture is being shown; only what does not follow from the last one is kept."""
        if self._runs and self._runs[-1].step == step and self._runs[-1].at(number) == (reel, place):
            return
        self._runs.append(_Run(number, reel, place, step))

    def at(self, number: int) -> Moment | None:
        """What was shown; None: it is forgotten, or before all time."""
        found = bisect_right(self._runs, number, key=lambda run: run.first)
        return self._runs[found - 1].at(number) if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How a camera behaves at present, as far as its pictures go."""

    reel: Reel
    fps: float
    is_frozen: bool = False
    jump: float = 0.0  # seconds by which timestamps are off


class Watcher(Protocol):
    """Whoever is shown a camera's pictures."""

    def show(self, shot: Shot, now: float) -> None:
        """A picture was taken."""
        ...


class Camera:
    """Takes pictures; how they get to those who watch is theirs to know."""

    def __init__(self, name: str, manner: Manner) -> None:
        self.name = name
        self.manner = manner
        self.number = -1  # of the latest picture
        self.since_keyframe: list[Shot] = []
        self.watchers: set[Watcher] = set()
        self.timeline = Timeline()
        self._reel = manner.reel
        self._place = -1
        self._ticks = 0.0
        self._times = array("d", bytes(8 * MOST_TIMES))  # by running number, over and over

    @property
    def period(self) -> float:
        """Seconds from one picture to the next."""
        return 1 / self.manner.fps

    def sent(self, *, since: int) -> list[tuple[int, Moment, float]]:
        """The newest pictures from that running number on: number, which one it was, and seconds since 1970."""
        first = max(since, self.number + 1 - MOST_TIMES, 0)
        known = ((number, self.timeline.at(number)) for number in range(first, self.number + 1))
        return [(number, moment, self._times[number % MOST_TIMES]) for number, moment in known if moment is not None]

    def shoot(self, wall: float) -> Shot:
        """Takes the next picture, at this time."""
        self._move()
        reel, manner = self._reel, self.manner
        self.number += 1
        self._times[self.number % MOST_TIMES] = wall
        self._ticks += CLOCK_RATE / manner.fps
        self.timeline.note(self.number, reel, self._place, step=0 if manner.is_frozen else 1)
        note = sei.write(sei.SentFrame(self.name, self.number, int(wall * 1_000_000)), codec=reel.codec)
        packets = reel.units[self._place].with_message(note)
        ticks = int(self._ticks + manner.jump * CLOCK_RATE)
        shot = Shot(self.number, packets, ticks, reel.payload_type, wall)
        if self._place in reel.keyframes:
            self.since_keyframe = [shot]
        else:
            self.since_keyframe.append(shot)
        return shot

    def _move(self) -> None:
        """Goes to the next place; a decoder can follow every move, for each ends at a keyframe or goes on from one."""
        if self._reel is not self.manner.reel:
            self._reel, self._place = self.manner.reel, 0
        elif self.manner.is_frozen and self._place >= 0:
            self._place = self._reel.keyframe_before(self._place)
        else:
            self._place = (self._place + 1) % len(self._reel.units)
