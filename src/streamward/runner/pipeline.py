"""Decoding and looking, in threads of their own: the event loop reads sockets and waits for nobody.

    reader (event loop) ─offer→ lane ─→ decoding threads ─newest frame→ lane ─→ one looking thread ─→ event loop

As many threads decode as there are processors, and they share the cameras; each camera is decoded by one at a time, in
order. One thread looks, for a detector keeps all processors busy by itself; cameras take turns, so that a fast camera
does not keep a slow one waiting. What cannot be kept up with is dropped, oldest first. The event loop is woken for what
was seen and for what failed; that frames were decoded is told beside it, or a tenth of a second later.
"""

import asyncio
import os
import threading
import traceback
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import PurePath
from queue import SimpleQueue
from typing import Any, Protocol

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId
from streamward.model.stream_error import StreamErrorCode
from streamward.runner.mailbox import Mailbox
from streamward.runtime.clock import Clock
from streamward.vision.detector import Detector, Size, enlarged, shown_size
from streamward.vision.lane import ArrivedUnit, Lane
from streamward.vision.sampling import Sampler
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate, Watchdog
from streamward.vision.zones import EVERYWHERE, Zones

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
class _Track:
    """One camera in the pipeline."""

    camera_id: CameraId
    decoder: FrameDecoder
    sampler: Sampler
    detector: Detector
    zones: Zones
    lane: Lane[_Shown] = field(default_factory=Lane)
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_decoding: bool = False
    frames: int = 0


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

    def add(
        self,
        camera_id: CameraId,
        decoder: FrameDecoder,
        *,
        sampler: Sampler,
        detector: Detector,
        zones: Zones = EVERYWHERE,
    ) -> None:
        """Begins to take a camera's units; only what is seen in its zones counts."""
        self._tracks[camera_id] = _Track(camera_id, decoder, sampler, detector, zones)

    def restart(self, camera_id: CameraId, decoder: FrameDecoder) -> None:
        """The camera was connected to anew: what waits is of no use, and frames are counted on."""
        track = self._tracks.get(camera_id)
        if track is not None:
            with track.lock:
                track.lane.clear()
                track.decoder = decoder

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
        decoder = track.decoder
        before = decoder.corrupt
        try:
            for frame in decoder.decode(unit.content, is_keyframe=unit.is_keyframe):
                self._decoded(track, frame, unit.arrived_at)
        except Exception as error:  # noqa: BLE001 - the camera goes on with the next unit, whatever this one did
            self._failed(track, StreamErrorCode.CORRUPT_STREAM, _described(error))
        if decoder.corrupt > before:
            self._failed(track, StreamErrorCode.CORRUPT_STREAM, "a picture could not be decoded, or only in part")

    def _decoded(self, track: _Track, frame: Frame, arrived_at: float) -> None:
        track.frames += 1
        self._mailbox.post(self._watchdog.on_frame_decoded, track.camera_id, arrived_at)
        track.sampler, is_wanted = track.sampler.admit(arrived_at)
        if not is_wanted:
            return
        detector, sent = track.detector, frame.size
        size = shown_size(detector, sent)
        image = frame.fitted(size)
        shown = _Shown(frame=track.frames, arrived_at=arrived_at, image=image, size=size, sent=sent, detector=detector)
        with track.lock:
            is_first = track.lane.show(shown)
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
            found = track.zones.admit(shown.detector.detect(shown.image), shown.size)
            picture = zlib.crc32(shown.image)
        except Exception as error:  # noqa: BLE001 - a detector is anybody's function; the other cameras go on
            self._failed(track, StreamErrorCode.DETECTOR_FAILED, _described(error))
            return
        seen = Seen(
            camera_id=track.camera_id,
            frame=shown.frame,
            arrived_at=shown.arrived_at,
            detections=enlarged(found, shown=shown.size, sent=shown.sent),
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
