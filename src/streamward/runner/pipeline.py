"""Decoding and looking, in threads of their own: the event loop reads sockets and waits for nobody.

    reader (event loop) ─offer→ lane ─→ decoding threads ─newest frame→ lane ─→ its detector's thread ─→ event loop

As many threads decode as there are processors, and they share the cameras; each camera is decoded by one at a time, in
order, as far as its chooser (`vision.decoding`) wants. Each detector has one thread, and its cameras take turns, so
that a fast camera does not keep a slow one waiting; one that does not come back is given up (`vision.patience`). What
cannot be kept up with is dropped, oldest first. The event loop is woken for what was seen and for what failed; that
frames were decoded is told beside it, or a tenth of a second later.
"""

import asyncio
import contextlib
import os
import threading
import traceback
import zlib
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from queue import SimpleQueue
from typing import Any, Protocol

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamErrorCode
from streamward.runner.looker import Looker
from streamward.runner.looking import Looking
from streamward.runner.mailbox import Mailbox
from streamward.runtime.blame import Board
from streamward.runtime.clock import Clock
from streamward.vision.decoding import NumberedUnit, Order
from streamward.vision.detections import Detections
from streamward.vision.detector import Detector, Size, enlarged, for_camera, least_sure, shown_size
from streamward.vision.lane import ArrivedUnit, Lane
from streamward.vision.patience import Hopeless, judge
from streamward.vision.sight import Sight
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate, Watchdog

_AT_A_TIME = 8  # units of one camera before another gets its turn
_MOST_PASSED = 1.0  # seconds between two looks at the looks: of a host that was suspended no detector is to blame
_CLOSED_WITHIN = 2.0  # seconds for looks that are under way


class Frame(Protocol):
    """A decoded picture."""

    @property
    def size(self) -> Size: ...
    def fitted(self, size: Size) -> Any: ...


class FrameDecoder(Protocol):
    """One camera's decoder."""

    @property
    def corrupt(self) -> int:
        """Units that could not be read, or only in part."""
        ...

    @property
    def holds_back(self) -> bool:
        """Whether pictures come out later than they are put in: they are shown in another order."""
        ...

    def decode(self, content: bytes, *, is_keyframe: bool) -> Iterable[Frame]:
        """The frames that an access unit gives; decoding can begin with a keyframe, as which recovery points count."""
        ...

    def rest(self) -> Iterable[Frame]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    frame: int
    arrived_at: float
    image: Any
    size: Size
    sent: Size
    detector: Detector  # which it was made to measure for
    kind: Detector  # whose thread that shares


@dataclass(slots=True)
class _Decoded:
    """The picture of one unit, made to measure once for each detector."""

    unit: NumberedUnit
    frame: Frame
    _image: Any = None
    _detector: Detector | None = None

    def fitted(self, detector: Detector) -> Any:
        if self._detector is not detector:
            self._image, self._detector = self.frame.fitted(shown_size(detector, self.frame.size)), detector
        return self._image


class _Connection:
    """What is known of a camera since it was connected to."""

    def __init__(self, decoder: FrameDecoder, looking: Looking) -> None:
        self.decoder = decoder
        self.chooser, self.comparer = looking.begun()
        self.latest: _Decoded | None = None
        self.is_decodable = False  # whether the access unit that was decoded last gave an intact frame
        self.is_fitting = True  # whether the frame that was to be scaled for the detector last could be
        self.told = 0  # the newest frame of which the watchdog knows

    def decoded(self, order: Order) -> _Decoded | None:
        """The last frame that a unit gives; what was decoded last is not decoded again."""
        if self.latest is None or self.latest.unit is not order.unit:
            unit, corrupt = order.unit.unit, self.decoder.corrupt
            self.latest, self.is_decodable = None, False  # also if the decoder raises
            frames = deque(self.decoder.decode(unit.content, is_keyframe=unit.is_random_access), maxlen=1)
            if order.is_alone:
                frames.extend(self.decoder.rest())
            if self.decoder.holds_back:
                self.chooser.reordered()
            if frames:
                self.latest = _Decoded(order.unit, frames[-1])
                self.is_decodable = self.decoder.corrupt == corrupt
        return self.latest

    def fit(self, decoded: _Decoded, detector: Detector) -> None:
        """Scales a frame for its detector; while that fails no frame of the camera counts."""
        self.is_fitting = False  # also if it raises
        decoded.fitted(detector)
        self.is_fitting = True

    def differs(self, decoded: _Decoded | None, detector: Detector) -> bool:
        """Whether something moved; what cannot be compared is looked into."""
        return decoded is None or self.comparer is None or self.comparer.differs(decoded.fitted(detector))


class _Track:
    """One camera in the pipeline."""

    def __init__(self, camera_id: CameraId, decoder: FrameDecoder, looking: Looking, looker: "Looker[_Track]") -> None:
        self.camera_id = camera_id
        self.looking = looking
        self.looker = looker
        self.detector = looking.detector  # until it is swapped
        self.kind = looking.kind or looking.detector
        self.sight = Sight(looking.zones, looking.thresholds)  # outlives connections: who stands still is the same
        self.lane: Lane[_Shown] = Lane()
        self.lock = threading.Lock()
        self.is_decoding = False
        self.frames = 0
        self.connection = _Connection(decoder, looking)

    def swap(self, kind: Detector, looker: "Looker[_Track]") -> None:
        """Another detector from the next frame on; what waits for one that is stuck, nobody sees."""
        detector = for_camera(kind)
        with self.lock:
            self.kind, self.detector = kind, detector
            if looker is not self.looker:
                self.looker = looker
                self.lane.miss()  # the turns for it were asked for elsewhere, and may never come

    def shown(self, decoded: _Decoded) -> _Shown:
        """What its detector is shown of a picture."""
        unit, detector, kind = decoded.unit, self.detector, self.kind
        return _Shown(
            frame=unit.number,
            arrived_at=unit.unit.arrived_at,
            image=decoded.fitted(detector),
            size=shown_size(detector, decoded.frame.size),
            sent=decoded.frame.size,
            detector=detector,
            kind=kind,
        )

    def restart(self, decoder: FrameDecoder) -> None:
        """Another connection: what waits is of no use, and frames are counted on."""
        self.lane.clear()
        self.connection = _Connection(decoder, self.looking)


_Turns = SimpleQueue[_Track | None]  # None: a thread is to end


class Pipeline:
    """All cameras of one shard."""

    def __init__(
        self, watchdog: Watchdog, *, clock: Clock, board: Board | None = None, threads: int | None = None
    ) -> None:
        self._watchdog = watchdog
        self._clock = clock
        self._board = board
        self._mailbox = Mailbox()
        self._tracks: dict[CameraId, _Track] = {}
        self._to_decode: _Turns = SimpleQueue()
        self._lookers: list[tuple[Detector, Looker[_Track]]] = []  # few: one for each detector
        self._waited_at = clock.boot()
        self._is_open = True
        count = threads or os.cpu_count() or 1  # more gain little on a busy host (bench.pressure)
        self._threads = [threading.Thread(target=self._decode_all, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether all its threads live; those of a pipeline that was closed have ended as they should."""
        if not self._is_open:
            return True
        return all(each.is_alive() for each in self._threads) and all(each.is_alive for _, each in self._lookers)

    def add(self, camera_id: CameraId, decoder: FrameDecoder, looking: Looking) -> None:
        """Begins to take a camera's units."""
        looker = self._looker(looking.kind or looking.detector)
        self._tracks[camera_id] = _Track(camera_id, decoder, looking, looker)

    def restart(self, camera_id: CameraId, decoder: FrameDecoder) -> None:
        """The camera was connected to anew."""
        track = self._tracks.get(camera_id)
        if track is not None:
            with track.lock:
                track.restart(decoder)

    def swap(self, old: Detector, new: Detector) -> None:
        """Has the cameras of one detector looked at by another; what was made to measure for the old one, it sees.

        They share a thread, unless that is stuck.
        """
        looker = self._looker(old)
        self._lookers = [each for each in self._lookers if each[0] is not old]
        if not looker.leave():
            self._lookers.append((new, looker))
        for track in list(self._tracks.values()):
            if track.kind is old:
                track.swap(new, self._looker(new))

    def drop(self, camera_id: CameraId) -> None:
        """Takes no more of a camera; what was seen before still comes back."""
        self._tracks.pop(camera_id, None)

    def offer(self, camera_id: CameraId, unit: ArrivedUnit) -> None:
        """Brings one unit; never waits."""
        track = self._tracks.get(camera_id)
        if track is None:
            return
        with track.lock:
            track.lane.offer(unit)
            is_new = not track.is_decoding
            track.is_decoding = True
        if is_new:
            self._to_decode.put(track)

    def dropped(self, camera_id: CameraId) -> tuple[int, int]:
        """Units and frames of a camera that there was no time for."""
        track = self._tracks.get(camera_id)
        return (0, 0) if track is None else (track.lane.dropped_units, track.lane.dropped_frames)

    def give_up(self) -> Hopeless | None:
        """To be called a few times a second: gives up looks that last too long; returns why this process should end."""
        now = self._clock.boot()
        passed, self._waited_at = min(now - self._waited_at, _MOST_PASSED), now
        cameras: dict[Looker[_Track], list[CameraId]] = {looker: [] for _, looker in self._lookers}
        for track in self._tracks.values():
            cameras.setdefault(track.looker, []).append(track.camera_id)
        for looker in cameras:
            if (look := looker.waited(passed)) is not None:
                self._failed(look.camera_id, f"the detector has not answered for {look.allowed:.0f} s")
        return judge([looker.eye(shown) for looker, shown in cameras.items()])

    async def close(self) -> None:
        """Ends all threads but those that are stuck; what was not looked at is forgotten."""
        self._is_open = False
        for _ in self._threads:
            self._to_decode.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        await asyncio.gather(*(asyncio.to_thread(looker.close, _CLOSED_WITHIN) for _, looker in self._lookers))
        self._mailbox.close()

    def _looker(self, detector: Detector) -> Looker[_Track]:
        found = next((looker for each, looker in self._lookers if each is detector), None)
        if found is None:
            found = Looker(self._look)
            self._lookers.append((detector, found))
        return found

    def _is_running(self, track: _Track) -> bool:
        """Or it was dropped since its turn was asked for."""
        return self._is_open and self._tracks.get(track.camera_id) is track

    def _decode_all(self) -> None:
        """A thread: gives each camera that comes its turn."""
        while (track := self._to_decode.get()) is not None:
            if self._is_running(track):
                self._decode(track)

    def _decode(self, track: _Track) -> None:
        for _ in range(_AT_A_TIME):
            with track.lock:
                unit = track.lane.take()
                if unit is None:
                    track.is_decoding = False
                    return
            self._decode_unit(track, unit)
        self._to_decode.put(track)

    def _decode_unit(self, track: _Track, unit: ArrivedUnit) -> None:
        track.frames += 1
        connection, came = track.connection, NumberedUnit(track.frames, unit)
        before = connection.decoder.corrupt
        try:
            orders = connection.chooser.next(came)
            if connection.is_decodable and connection.is_fitting and all(order.unit is not came for order in orders):
                self._came(track, connection, came)  # not decoded by choice, which counts as long as decoding works
            self._follow(track, connection, orders, came)
        except Exception as error:  # noqa: BLE001 - the camera goes on with the next unit, whatever this one did
            self._failed(track.camera_id, _described(error), StreamErrorCode.CORRUPT_STREAM)
        if connection.decoder.corrupt > before:
            detail = "a picture could not be decoded, or only in part"
            self._failed(track.camera_id, detail, StreamErrorCode.CORRUPT_STREAM)

    def _follow(self, track: _Track, connection: _Connection, orders: Iterable[Order], came: NumberedUnit) -> None:
        for order in orders:
            decoded = connection.decoded(order)
            if decoded is not None and (order.is_shown or order.is_judged):
                connection.fit(decoded, track.detector)
            if order.unit is came and decoded is not None and connection.is_fitting:
                self._came(track, connection, came)
            if order.is_judged:
                is_moving = connection.differs(decoded, track.detector)
                self._follow(track, connection, connection.chooser.judged(is_moving=is_moving), came)
            elif order.is_shown and decoded is not None:
                if connection.comparer is not None:
                    is_moving = connection.differs(decoded, track.detector)
                    connection.chooser.looked(order.unit.unit.arrived_at, is_moving=is_moving)
                self._show(track, decoded, is_overdue=order.is_overdue)

    def _came(self, track: _Track, connection: _Connection, came: NumberedUnit) -> None:
        """Told once, though a keyframe may be decoded twice."""
        if connection.told < came.number:
            connection.told = came.number
            self._mailbox.post(self._watchdog.on_frame_decoded, track.camera_id, came.unit.arrived_at)

    def _show(self, track: _Track, decoded: _Decoded, *, is_overdue: bool) -> None:
        shown = track.shown(decoded)
        with track.lock:
            if shown.detector is not track.detector:  # swapped meanwhile: the old one may be stuck
                shown = track.shown(decoded)
            needs_turn = track.lane.show_overdue(shown) if is_overdue else track.lane.show(shown)
            looker = track.looker
        if (stuck := looker.stuck) is not None:
            self._failed(track.camera_id, f"the detector is still busy with a picture of {stuck.camera_id}")
        if needs_turn:
            looker.turn(track)

    def _look(self, looker: Looker[_Track], track: _Track) -> None:
        """One turn, in the thread of the track's detector; what comes back too late is not told."""
        if not self._is_running(track):
            return
        with track.lock:
            shown = track.lane.look() if looker is track.looker else None
        if shown is None:
            return
        frame = ShownFrame(camera_id=track.camera_id, frame=shown.frame, arrived_at=shown.arrived_at)
        self._mailbox.post(self._watchdog.on_model_inference_started, frame)
        began = self._clock.boot()
        looker.begin(track.camera_id, shown.kind)
        with contextlib.nullcontext() if self._board is None else self._board.doing(track.camera_id, is_look=True):
            found = _looked_at(shown)
        took = self._clock.boot() - began
        if not looker.end(took):
            return
        seen = found if isinstance(found, str) else self._seen(track, shown, found, took)
        if isinstance(seen, Seen):
            self._tell(self._watchdog.on_model_prediction_ready, seen)
        else:
            self._failed(track.camera_id, seen)

    def _seen(self, track: _Track, shown: _Shown, found: Detections, took: float) -> Seen | str:
        """What is made of it, or why nothing is."""
        try:
            sighted = track.sight.look(found, shown.size, shown.arrived_at, least_sure=least_sure(shown.detector))
        except Exception as error:  # noqa: BLE001 - the other cameras go on
            return _described(error)
        return Seen(
            camera_id=track.camera_id,
            frame=shown.frame,
            arrived_at=shown.arrived_at,
            detections=enlarged(sighted.detections, shown=shown.size, sent=shown.sent),
            zone_events=sighted.zone_events,
            inference_s=took,
            picture=zlib.crc32(shown.image),
        )

    def _failed(
        self, camera_id: CameraId, detail: str, code: StreamErrorCode = StreamErrorCode.DETECTOR_FAILED
    ) -> None:
        update = StatusUpdate(camera_id=camera_id, at=self._clock.boot(), what=code, detail=detail)
        self._tell(self._watchdog.on_status_update, update)

    def _tell(self, heard: Callable[..., None], *what: object) -> None:
        self._mailbox.post(heard, *what)
        if self._is_open:
            self._mailbox.wake()


def _looked_at(shown: _Shown) -> Detections | str:
    """What a detector finds, or why it does not."""
    try:
        return shown.detector.detect(shown.image)
    except BaseException as error:  # noqa: BLE001 - it is anybody's function, and may even call exit
        return _described(error)


def _described(error: BaseException) -> str:
    """What was raised where; an error of others may quote pixels, so only our own are told in their own words."""
    if isinstance(error, StreamwardError):
        return str(error)
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {innermost.name}, line {innermost.lineno} of {PurePath(innermost.filename).name}"
