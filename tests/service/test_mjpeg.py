"""MJPEG from packets to frames, clips and snapshots."""

import io

import av
import numpy as np

from streamward.drivers.cutting import PyAvCutter
from streamward.drivers.decoder import Decoder
from streamward.model.video import VideoCodec
from streamward.protocol.rtp.reader import (
    AccessUnit,
    DropReason,
    Found,
    PacketsLost,
    ReaderSpec,
    RtpReader,
    UnitDropped,
)
from streamward.vision.detections import NOTHING
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit
from tests.support.jpegs import a_jpeg, jpeg_payloads
from tests.support.pictures import TICKS, a_packet

SIZES = [(320, 192)] * 3 + [(160, 96)] * 3


def packets() -> list[list[bytes]]:
    """Those of each picture."""
    sequence, every = 0, []
    for number, (width, height) in enumerate(SIZES):
        payloads = jpeg_payloads(a_jpeg(width, height), largest=500)
        every.append([
            a_packet(each, sequence=sequence + place, timestamp=number * TICKS, marker=place == len(payloads) - 1)
            for place, each in enumerate(payloads)
        ])
        sequence += len(payloads)
    return every


def received(sent: list[list[bytes]]) -> list[Found]:
    reader = RtpReader(ReaderSpec(codec=VideoCodec.MJPEG, payload_type=96, window=0))
    return [found for each in sent for packet in each for found in reader.receive(memoryview(packet))]


def units(found: list[Found]) -> tuple[ArrivedUnit, ...]:
    whole = [each for each in found if isinstance(each, AccessUnit)]
    assert all(each.is_keyframe and not each.is_damaged for each in whole)
    return tuple(
        ArrivedUnit(content=each.content, is_keyframe=True, arrived_at=place / 10) for place, each in enumerate(whole)
    )


def test_pictures_are_decoded_in_the_size_that_they_have():
    decoder = Decoder(VideoCodec.MJPEG)
    frames = [frame for unit in units(received(packets())) for frame in decoder.decode(unit.content, is_keyframe=True)]
    assert [frame.size for frame in frames] == [Size(*size) for size in SIZES]
    assert decoder.corrupt == 0
    row = frames[0].fitted(frames[0].size)[100, :, 1].astype(int)
    assert np.abs(row - np.linspace(0, 255, 320)).max() < 8


def test_a_picture_of_which_a_packet_was_lost_is_dropped_and_the_next_is_whole():
    sent = packets()
    del sent[1][1]
    found = received(sent)
    assert [each for each in found if not isinstance(each, AccessUnit)] == [
        PacketsLost(1),
        UnitDropped(DropReason.LOSS),
    ]
    assert len(units(found)) == len(SIZES) - 1


def test_what_is_no_jpeg_raises_nothing_and_is_corrupt():
    decoder = Decoder(VideoCodec.MJPEG)
    assert not list(decoder.decode(b"no jpeg", is_keyframe=True))
    assert decoder.corrupt == 1


def test_clips_and_snapshots_show_the_latest_size():
    kept = units(received(packets()))
    with av.open(io.BytesIO(PyAvCutter().clip(VideoCodec.MJPEG, kept)), "r") as container:
        assert [(frame.width, frame.height) for frame in container.decode(video=0)] == SIZES[3:]
    with av.open(io.BytesIO(PyAvCutter().snapshot(VideoCodec.MJPEG, kept, NOTHING)), "r") as container:
        assert [(frame.width, frame.height) for frame in container.decode(video=0)] == SIZES[5:]
