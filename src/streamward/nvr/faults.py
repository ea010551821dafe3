"""How a recorder can misbehave: each fault is a value, set and taken away while it runs.

A fault counts for one camera or for the whole recorder, one of each kind in each place; what is set for a camera goes
before what is set for all. Faults of different kinds add up as far as it makes sense: a camera can lose packets, be
hours off and be full at the same time.

They are what the control API speaks in, too: `{"kind": "mute", "after": "setup"}`.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

import msgspec

from streamward.model.video import NAL_CODECS, VideoCodec

_WORD = re.compile(r"(?<!^)(?=[A-Z])")

Seconds = Annotated[float, msgspec.Meta(ge=0)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Side = Annotated[int, msgspec.Meta(ge=64, le=4096, multiple_of=2)]
FullStatus = Literal[453, 503]


class Step(StrEnum):
    """How far a client has come, in the order of a session."""

    CONNECT = "connect"
    OPTIONS = "options"
    DESCRIBE = "describe"
    SETUP = "setup"
    PLAY = "play"


STEPS = tuple(Step)


def _tag(name: str) -> str:
    return _WORD.sub("_", name).lower()


class _Fault(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=_tag, forbid_unknown_fields=True):
    """The root of all faults."""


class Refuse(_Fault, frozen=True, kw_only=True):
    """Nobody answers at the port. For one camera: whoever names it is cut off, as the port is shared."""


class Mute(_Fault, frozen=True, kw_only=True):
    """After this step was answered nothing more is said or shown, and the connection stays open."""

    after: Step


class Slow(_Fault, frozen=True, kw_only=True):
    """Each request is heard so much later."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=60)] = 0.5


class Trickle(_Fault, frozen=True, kw_only=True):
    """After this step whatever is sent goes out byte by byte."""

    every: Annotated[float, msgspec.Meta(gt=0)] = 0.5  # seconds
    after: Step = Step.CONNECT


class RtcpOnly(_Fault, frozen=True, kw_only=True):
    """Sender reports go on, pictures do not."""

    every: Annotated[float, msgspec.Meta(gt=0)] = 1.0  # seconds


class Frozen(_Fault, frozen=True, kw_only=True):
    """The same picture over and over, with timestamps and numbers that go on."""


class HalfOpen(_Fault, frozen=True, kw_only=True):
    """The peer vanishes: it neither reads nor writes nor closes. When this ends, such connections are cut."""


class LoginRefused(_Fault, frozen=True, kw_only=True):
    """401 to every login, the right one too."""


class LoginRefusedUntil(_Fault, frozen=True, kw_only=True):
    """401 to a client's first logins, the right ones too, until this try."""

    tries: Annotated[int, msgspec.Meta(ge=1)] = 3


class NonceStale(_Fault, frozen=True, kw_only=True):
    """The first right logins of each connection are told that their nonce went stale."""

    times: Annotated[int, msgspec.Meta(ge=1)] = 1


class Lockout(_Fault, frozen=True, kw_only=True):
    """After so many wrong logins from an address, all its logins are refused for a while."""

    after: Annotated[int, msgspec.Meta(ge=1)] = 5
    lasts: Seconds = 600.0


class Missing(_Fault, frozen=True, kw_only=True):
    """404: there is no such camera."""


class Full(_Fault, frozen=True, kw_only=True):
    """There is no room for one more session, ever."""

    status: FullStatus = 453


class SessionLimit(_Fault, frozen=True, kw_only=True):
    """Room for so many sessions; one that is not given back by TEARDOWN takes up room for a while longer."""

    most: Annotated[int, msgspec.Meta(ge=0)]
    status: FullStatus = 453
    stale_for: Seconds = 60.0


class Redirect(_Fault, frozen=True, kw_only=True):
    """302 to somewhere else, in answer to this step."""

    to: str
    at: Literal["options", "describe"] = "describe"


class Reboot(_Fault, frozen=True, kw_only=True):
    """All connections are cut and nobody answers for a while; with `up_for` that comes again and again."""

    down_for: Seconds = 30.0
    up_for: Seconds | None = None

    def is_down(self, elapsed: float) -> bool:
        """Whether it is away so many seconds after it began."""
        if self.up_for is None:
            return elapsed < self.down_for
        return elapsed % (self.down_for + self.up_for or 1.0) < self.down_for


class Reencode(_Fault, frozen=True, kw_only=True):
    """From the next picture on another codec or size, in the middle of the stream; None: as it was."""

    codec: VideoCodec | None = None
    width: Side | None = None
    height: Side | None = None

    def __post_init__(self) -> None:
        if self.codec not in (None, *NAL_CODECS):
            raise ValueError(f"{self.codec} cannot be encoded here")


class Corrupt(_Fault, frozen=True, kw_only=True):
    """So many of the packets have a wrong byte inside, or tell a wrong length."""

    share: Share = 0.02
    target: Literal["payload", "length"] = "payload"


class Loss(_Fault, frozen=True, kw_only=True):
    """So many of the packets are not sent."""

    share: Share = 0.02


class TimestampJump(_Fault, frozen=True, kw_only=True):
    """RTP timestamps are this far off: they jump when it is set, and back when it is taken away."""

    seconds: float = 3600.0


class ClockOff(_Fault, frozen=True, kw_only=True):
    """The camera's clock, as its sender reports tell it, is wrong by this much."""

    seconds: float = 7200.0


class FpsChange(_Fault, frozen=True, kw_only=True):
    """Another frame rate than the one that the scene was made for."""

    fps: Annotated[float, msgspec.Meta(gt=0, le=120)]


Fault = (
    Refuse
    | Mute
    | Slow
    | Trickle
    | RtcpOnly
    | Frozen
    | HalfOpen
    | LoginRefused
    | LoginRefusedUntil
    | NonceStale
    | Lockout
    | Missing
    | Full
    | SessionLimit
    | Redirect
    | Reboot
    | Reencode
    | Corrupt
    | Loss
    | TimestampJump
    | ClockOff
    | FpsChange
)
F = TypeVar("F", bound=_Fault)


class PlacedFault(msgspec.Struct, frozen=True):
    """A fault and where it counts; None: everywhere."""

    fault: Fault
    camera: str | None = None
    set_at: float = 0.0


@dataclass(slots=True)
class Board:
    """The faults that are set."""

    _placed: dict[tuple[str | None, type[_Fault]], PlacedFault] = field(default_factory=dict)

    def set(self, placed: PlacedFault) -> None:
        """From now on this one counts, in place of the last of its kind there."""
        self._placed[placed.camera, type(placed.fault)] = placed

    def clear(self, camera: str | None = None, kind: str | None = None) -> list[PlacedFault]:
        """Takes faults away, by default all of them; returns those that were."""
        gone = [
            placed
            for placed in self._placed.values()
            if camera in {None, placed.camera} and kind in {None, kind_of(placed.fault)}
        ]
        for placed in gone:
            del self._placed[placed.camera, type(placed.fault)]
        return gone

    def find(self, kind: type[F], camera: str | None) -> F | None:
        """The fault of a kind that counts for a camera (None: for the recorder alone)."""
        placed = self._find(kind, camera)
        return placed.fault if placed is not None and isinstance(placed.fault, kind) else None

    def is_away(self, camera: str | None, now: float) -> bool:
        """Whether a camera (None: the recorder) refuses connections now."""
        return self.find(Refuse, camera) is not None or self.is_rebooting(camera, now)

    def is_rebooting(self, camera: str | None, now: float) -> bool:
        """Whether a camera (None: the recorder) is down because of a reboot."""
        placed = self._find(Reboot, camera)
        return placed is not None and isinstance(placed.fault, Reboot) and placed.fault.is_down(now - placed.set_at)

    def placed(self) -> list[PlacedFault]:
        """All that are set, in the order in which they were."""
        return list(self._placed.values())

    def _find(self, kind: type[_Fault], camera: str | None) -> PlacedFault | None:
        if camera is not None and (own := self._placed.get((camera, kind))):
            return own
        return self._placed.get((None, kind))


def kind_of(fault: Fault) -> str:
    """The name by which the control API knows a kind of fault."""
    return _tag(type(fault).__name__)
