"""The recorder behind its sockets: cameras, the faults that are set, and what it remembers of its clients."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from streamward.model.video import PictureSize
from streamward.nvr.camera import Camera, Manner, Moment
from streamward.nvr.faults import (
    STEPS,
    Board,
    ClockOff,
    Corrupt,
    FpsChange,
    Frozen,
    Full,
    FullStatus,
    HalfOpen,
    Lockout,
    LoginRefusedUntil,
    Loss,
    Mute,
    PlacedFault,
    Reencode,
    RtcpOnly,
    SessionLimit,
    Step,
    TimestampJump,
    Trickle,
)
from streamward.nvr.logins import Logins
from streamward.nvr.reel import Library, Reel
from streamward.nvr.sessions import Sessions
from streamward.nvr.spec import CameraSpec, NvrSpec, UnknownCamera
from streamward.nvr.tally import Deed, Tally

_NAME = re.compile(r"rtsps?://[^/]*/([^/?]+)", re.IGNORECASE)
_FULL: FullStatus = 453


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """How clients of one camera are treated at present."""

    mute: Mute | None = None
    trickle: Trickle | None = None
    rtcp_only: RtcpOnly | None = None
    loss: Loss | None = None
    corrupt: Corrupt | None = None
    clock_off: float = 0.0
    is_half_open: bool = False

    def is_mute(self, reached: Step) -> bool:
        """Whether nothing more is said to a client that has come so far."""
        return self.mute is not None and STEPS.index(reached) >= STEPS.index(self.mute.after)

    def trickle_every(self, reached: Step) -> float | None:
        """Seconds for each byte to a client that has come so far; None: no byte waits."""
        if self.trickle is None or STEPS.index(reached) < STEPS.index(self.trickle.after):
            return None
        return self.trickle.every


class Recorder:
    """All that connections share."""

    def __init__(self, spec: NvrSpec, library: Library, *, wall: Callable[[], float]) -> None:
        self.spec = spec
        self.board = Board()
        self.tally = Tally()
        self.sessions = Sessions()
        self.logins = Logins(self.board)
        self.wall = wall
        self._library = library
        self._specs = {each.name: each for each in spec.cameras}
        self.cameras = {each.name: Camera(each.name, self._manner(each)) for each in spec.cameras}
        self._conducts: dict[str | None, Conduct] = {}
        self.refresh()

    def find(self, uri: str) -> Camera | None:
        """The camera that a URI names, or below which it lies."""
        found = _NAME.match(uri)
        return self.cameras.get(found[1]) if found else None

    def camera(self, name: str) -> Camera:
        """The camera of that name."""
        if name not in self.cameras:
            raise UnknownCamera(name)
        return self.cameras[name]

    def conduct(self, camera: str | None) -> Conduct:
        """How clients of a camera are treated; None: those that have named none yet."""
        return self._conducts[camera]

    def refresh(self, changed: Iterable[PlacedFault] = ()) -> None:
        """Lets the faults that are set now count, after these came or went."""
        if any(isinstance(placed.fault, Lockout | LoginRefusedUntil) for placed in changed):
            self.logins.forget()
        self._conducts = {name: self._conduct(name) for name in (None, *self.cameras)}
        for name, camera in self.cameras.items():
            camera.manner = self._manner(self._specs[name])

    def reel(self, spec: CameraSpec, change: Reencode | None) -> Reel:
        """What a camera shows, under this change."""
        if spec.file is not None:
            return self._own(spec.file, change)
        if change is None:
            return self._library.reel(spec.scene, spec.codec, spec.picture)
        picture = spec.picture
        size = replace(picture, width=change.width or picture.width, height=change.height or picture.height)
        return self._library.reel(spec.scene, change.codec or spec.codec, size)

    def _own(self, file: Path, change: Reencode | None) -> Reel:
        """A file of somebody's, under this change."""
        if change is None:
            return self._library.reel_of(file)
        width, height = self._library.footage(file).size
        size = PictureSize(change.width or width, change.height or height)
        return self._library.reel_of(file, codec=change.codec, size=size)

    def refusal(self, camera: str, now: float) -> FullStatus | None:
        """With which status one more session is refused; None: there is room."""
        if (full := self.board.find(Full, camera)) is not None:
            return full.status
        access = self.spec.access
        limits: list[tuple[int | None, str | None, FullStatus]] = [
            (access.max_sessions, None, _FULL),
            (access.max_sessions_per_camera, camera, _FULL),
        ]
        limits += [
            (placed.fault.most, placed.camera, placed.fault.status)
            for placed in self.board.placed()
            if isinstance(placed.fault, SessionLimit) and placed.camera in {None, camera}
        ]
        for most, which, status in limits:
            if most is not None and self.sessions.count(now, which) >= most:
                return status
        return None

    def end_session(self, session_id: str, *, camera: str, now: float, is_given_back: bool) -> None:
        """A session is over; one that was not given back may take up room for a while."""
        limit = self.board.find(SessionLimit, camera)
        stale_for = limit.stale_for if limit is not None and not is_given_back else 0.0
        self.sessions.close(session_id, now, stale_for=stale_for)

    def count(self, deed: Deed, *, camera: str | None, address: str) -> None:
        """Counts what a client did."""
        self.tally.add(deed, camera=camera, address=address, at=self.wall())

    def moment(self, name: str, number: int) -> Moment | None:
        """Which picture a camera's running number was."""
        camera = self.camera(name)
        return camera.timeline.at(number) if 0 <= number <= camera.number else None

    def _conduct(self, name: str | None) -> Conduct:
        find = self.board.find
        off = find(ClockOff, name)
        return Conduct(
            mute=find(Mute, name),
            trickle=find(Trickle, name),
            rtcp_only=find(RtcpOnly, name),
            loss=find(Loss, name),
            corrupt=find(Corrupt, name),
            clock_off=off.seconds if off else 0.0,
            is_half_open=find(HalfOpen, name) is not None,
        )

    def _manner(self, spec: CameraSpec) -> Manner:
        find = self.board.find
        fps, jump = find(FpsChange, spec.name), find(TimestampJump, spec.name)
        reel = self.reel(spec, find(Reencode, spec.name))
        return Manner(
            reel=reel,
            fps=fps.fps if fps else reel.fps,
            is_frozen=find(Frozen, spec.name) is not None,
            jump=jump.seconds if jump else 0.0,
        )
