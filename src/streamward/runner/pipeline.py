"""Decoding and looking, in threads of their own: the event loop reads sockets and waits for nobody.

    reader (event loop) ─offer→ lane ─→ decoding threads ─newest frame→ lane ─→ one looking thread ─→ event loop

As many threads decode as there are processors, and they share the cameras; each camera is decoded by one at a time, in
order, as far as its chooser (`vision.decoding`) wants. One thread looks, for a detector keeps all processors busy by
itself; cameras take turns, so that a fast camera does not keep a slow one waiting. What cannot be kept up with is
dropped, oldest first. The event loop is woken for what was seen and for what failed; that frames were decoded is told
beside it, or a tenth of a second later.
"""

import asyncio
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
from streamward.runner.looking import Looking
from streamward.runner.mailbox import Mailbox
from streamward.runtime.clock import Clock
from streamward.vision.decoding import NumberedUnit, Order
from streamward.vision.detector import Detector, Size, enlarged, least_sure, shown_size
from streamward.vision.lane import ArrivedUnit, Lane
from streamward.vision.sight import Sight
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate, Watchdog

_AT_A_TIME = 8  # units of one camera before another gets its turn


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

    def decode(self, content: bytes, *, is_keyframe: bool) -> Iterable[Frame]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    frame: int
    arrived_at: float
    image: Any
    size: Size
    sent: Size
    detector: Detector  # which it was made to measure for


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
        self.told = 0  # the newest frame of which the watchdog knows

    def decoded(self, numbered: NumberedUnit) -> _Decoded | None:
        """The last frame that a unit gives; what was decoded last is not decoded again."""
        if self.latest is None or self.latest.unit is not numbered:
            unit = numbered.unit
            frames = deque(self.decoder.decode(unit.content, is_keyframe=unit.is_keyframe), maxlen=1)
            self.latest = _Decoded(numbered, frames[-1]) if frames else None
        return self.latest

    def differs(self, decoded: _Decoded | None, detector: Detector) -> bool:
        """Whether something moved; what cannot be compared is looked into."""
        return decoded is None or self.comparer is None or self.comparer.differs(decoded.fitted(detector))


class _Track:
    """One camera in the pipeline."""

    def __init__(self, camera_id: CameraId, decoder: FrameDecoder, looking: Looking) -> None:
        self.camera_id = camera_id
        self.looking = looking
        self.detector = looking.detector  # until it is swapped
        self.sight = Sight(looking.zones, looking.thresholds)  # outlives connections: who stands still is the same
        self.lane: Lane[_Shown] = Lane()
        self.lock = threading.Lock()
        self.is_decoding = False
        self.frames = 0
        self.connection = _Connection(decoder, looking)

    def restart(self, decoder: FrameDecoder) -> None:
        """Another connection: what waits is of no use, and frames are counted on."""
        self.lane.clear()
        self.connection = _Connection(decoder, self.looking)


_Turns = SimpleQueue[_Track | None]  # None: a thread is to end


class Pipeline:
    """All cameras of one shard."""

    def __init__(self, watchdog: Watchdog, *, clock: Clock) -> None:
        self._watchdog = watchdog
        self._clock = clock
        self._mailbox = Mailbox()
        self._tracks: dict[CameraId, _Track] = {}
        self._to_decode: _Turns = SimpleQueue()
        self._to_look: _Turns = SimpleQueue()
        self._is_open = True
        works = [(self._decode, self._to_decode)] * (os.cpu_count() or 1) + [(self._look, self._to_look)]
        self._threads = [threading.Thread(target=self._work, args=each, daemon=True) for each in works]
        for thread in self._threads:
            thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether all its threads live."""
        return all(thread.is_alive() for thread in self._threads)

    def add(self, camera_id: CameraId, decoder: FrameDecoder, looking: Looking) -> None:
        """Begins to take a camera's units."""
        self._tracks[camera_id] = _Track(camera_id, decoder, looking)

    def restart(self, camera_id: CameraId, decoder: FrameDecoder) -> None:
        """The camera was connected to anew."""
        track = self._tracks.get(camera_id)
        if track is not None:
            with track.lock:
                track.restart(decoder)

    def swap(self, old: Detector, new: Detector) -> None:
        """Has the cameras of one detector looked at by another; what was made to measure for the old one, it sees."""
        for track in list(self._tracks.values()):
            if track.detector is old:
                track.detector = new

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

    async def close(self) -> None:
        """Ends all threads; what was not looked at is forgotten."""
        self._is_open = False
        for turns in (self._to_decode, self._to_look):
            for _ in self._threads:
                turns.put(None)
        for thread in self._threads:
            await asyncio.to_thread(thread.join)
        self._mailbox.close()

    def _work(self, work: Callable[[_Track], None], turns: _Turns) -> None:
        """A thread: gives each camera that comes its turn, unless it was dropped since."""
        while (track := turns.get()) is not None:
            if self._is_open and self._tracks.get(track.camera_id) is track:
                work(track)

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
            if all(order.unit is not came for order in orders):  # nobody needs it now: it came all the same
                self._came(track, connection, came)
            self._follow(track, connection, orders, came)
        except Exception as error:  # noqa: BLE001 - the camera goes on with the next unit, whatever this one did
            self._failed(track, StreamErrorCode.CORRUPT_STREAM, _described(error))
        if connection.decoder.corrupt > before:
            self._failed(track, StreamErrorCode.CORRUPT_STREAM, "a picture could not be decoded, or only in part")

    def _follow(self, track: _Track, connection: _Connection, orders: Iterable[Order], came: NumberedUnit) -> None:
        for order in orders:
            decoded = connection.decoded(order.unit)
            if order.unit is came and decoded is not None:
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
        unit, detector = decoded.unit, track.detector
        shown = _Shown(
            frame=unit.number,
            arrived_at=unit.unit.arrived_at,
            image=decoded.fitted(detector),
            size=shown_size(detector, decoded.frame.size),
            sent=decoded.frame.size,
            detector=detector,
        )
        with track.lock:
            is_first = track.lane.show_overdue(shown) if is_overdue else track.lane.show(shown)
        if is_first:
            self._to_look.put(track)

    def _look(self, track: _Track) -> None:
        with track.lock:
            shown = track.lane.look()
        if shown is not None:
            self._look_at(track, shown)

    def _look_at(self, track: _Track, shown: _Shown) -> None:
        frame = ShownFrame(camera_id=track.camera_id, frame=shown.frame, arrived_at=shown.arrived_at)
        self._mailbox.post(self._watchdog.on_model_inference_started, frame)
        began = self._clock.boot()
        try:
            found = shown.detector.detect(shown.image)
            sighted = track.sight.look(found, shown.size, shown.arrived_at, least_sure=least_sure(shown.detector))
            picture = zlib.crc32(shown.image)
        except Exception as error:  # noqa: BLE001 - a detector is anybody's function; the other cameras go on
            self._failed(track, StreamErrorCode.DETECTOR_FAILED, _described(error))
            return
        seen = Seen(
            camera_id=track.camera_id,
            frame=shown.frame,
            arrived_at=shown.arrived_at,
            detections=enlarged(sighted.detections, shown=shown.size, sent=shown.sent),
            zone_events=sighted.zone_events,
            inference_s=self._clock.boot() - began,
            picture=picture,
        )
        self._tell(self._watchdog.on_model_prediction_ready, seen)

    def _failed(self, track: _Track, code: StreamErrorCode, detail: str) -> None:
        update = StatusUpdate(camera_id=track.camera_id, at=self._clock.boot(), what=code, detail=detail)
        self._tell(self._watchdog.on_status_update, update)

    def _tell(self, heard: Callable[..., None], *what: object) -> None:
        self._mailbox.post(heard, *what)
        if self._is_open:
            self._mailbox.wake()


def _described(error: Exception) -> str:
    """What was raised where; an error of others may quote pixels, so only our own are told in their own words."""
    if isinstance(error, StreamwardError):
        return str(error)
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {innermost.name}, line {innermost.lineno} of {PurePath(innermost.filename).name}"
