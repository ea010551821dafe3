"""Cameras that send recovery points instead of keyframes: joined anywhere, after loss, and in clips and snapshots."""

import io
from dataclasses import dataclass
from typing import Any

import av
import numpy as np

from streamward.drivers.cutting import PyAvCutter
from streamward.drivers.decoder import Decoder
from streamward.model.ids import CameraId
from streamward.model.video import VideoCodec
from streamward.protocol.rtp.reader import AccessUnit, ReaderSpec, RtpReader
from streamward.runner.line import Line
from streamward.vision.detections import NOTHING
from streamward.vision.lane import ArrivedUnit
from streamward.vision.ring import Ring
from tests.support.encodings import FPS, SIZE, a_moving_clip, without_idr
from tests.support.pictures import packets

CAMERA = CameraId("cam-1")
WAVE = 10  # frames in which every part of the picture is refreshed


def received(*, lost: range = range(0)) -> list[ArrivedUnit]:
    """What a reader makes of a camera with intra refresh, the packets of some access units missing."""
    sent = [unit.content for unit in without_idr(a_moving_clip(f"intra-refresh=1:keyint={WAVE}", frames=80)).units]
    reader, units = RtpReader(ReaderSpec(codec=VideoCodec.H264, payload_type=96, window=0)), []
    stamps: dict[bytes, None] = {}
    for packet in packets(sent):
        stamps.setdefault(packet[4:8])
        if len(stamps) - 1 not in lost:
            units += [found for found in reader.receive(memoryview(packet)) if isinstance(found, AccessUnit)]
    return [
        ArrivedUnit(
            content=unit.content,
            is_keyframe=unit.is_keyframe,
            is_recovery_point=unit.is_recovery_point,
            is_damaged=unit.is_damaged,
            arrived_at=number / FPS,
        )
        for number, unit in enumerate(units)
    ]


@dataclass
class Decoded:
    """Stands for watcher and pipeline of one camera, and decodes at once."""

    camera_id: CameraId = CAMERA
    decoder: Any = None
    frames: int = 0
    corrupt: int = 0

    @property
    def stream(self) -> "Decoded":
        return self

    def unit(self, _now: float) -> None: ...
    def connected(self) -> None: ...

    def restart(self, _camera_id: CameraId, decoder: Any) -> None:
        self.decoder = decoder

    def offer(self, _camera_id: CameraId, unit: ArrivedUnit) -> None:
        before = self.decoder.corrupt
        self.frames += len(list(self.decoder.decode(unit.content, is_keyframe=unit.is_random_access)))
        self.corrupt += self.decoder.corrupt - before


def decoded(units: list[ArrivedUnit]) -> Decoded:
    told: Any = Decoded()
    line = Line(told, told, lambda codec: Decoder(codec or VideoCodec.H264), lambda _camera_id: None)
    line.playing(VideoCodec.H264)
    for unit in units:
        line.unit(unit)
    assert isinstance(told, Decoded)
    return told


def test_frames_come_as_soon_as_every_part_of_the_picture_was_refreshed():
    units = received()
    assert [number for number, unit in enumerate(units) if unit.is_recovery_point] == list(range(0, len(units), WAVE))
    told = decoded(units)
    assert len(units) - 2 * WAVE <= told.frames <= len(units)
    assert told.corrupt == 0


def test_after_loss_nothing_is_shown_before_the_picture_was_refreshed_again():
    lost = range(33, 36)
    units = received(lost=lost)
    assert any(unit.is_damaged for unit in units)
    told = decoded(units)
    assert len(units) - 5 * WAVE <= told.frames <= len(units) - 2 * WAVE
    assert told.corrupt == 0


def test_clips_and_snapshots_can_be_made_of_what_was_kept():
    ring = Ring(seconds=3.0, most_bytes=1 << 22)
    for unit in received():
        ring.add(unit)
    units = tuple(unit for group in ring.latest(1.0) for unit in group.units())
    with av.open(io.BytesIO(PyAvCutter().clip(VideoCodec.H264, units)), "r") as container:
        assert len(list(container.decode(video=0))) >= FPS
    with av.open(io.BytesIO(PyAvCutter().snapshot(VideoCodec.H264, units, NOTHING)), "r") as container:
        [picture] = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert picture.shape == (SIZE.height, SIZE.width, 3)
    assert np.std(picture) > 20  # no grey
