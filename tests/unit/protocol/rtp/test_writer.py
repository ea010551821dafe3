"""From pictures to packets, and back again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.protocol.rtp.nal import join, split
from streamward.protocol.rtp.reader import AccessUnit, ReaderSpec, RtpReader
from streamward.protocol.rtp.writer import Packets, RtpSender, UnfitPayload, packetize
from streamward.protocol.rtsp.framing import Interleaved, StreamDecoder
from tests.support.pictures import PPS_H264, SPS_H264, clip, keyframe_h264, slice_h264

_body = st.binary(min_size=1, max_size=400).map(lambda body: body.replace(b"\0", b"\1"))
_NALS = {
    VideoCodec.H264: st.tuples(st.sampled_from([b"\x67", b"\x68", b"\x06", b"\x65\x88", b"\x41\x88"]), _body).map(
        b"".join
    ),
    VideoCodec.H265: st.tuples(
        st.sampled_from([b"\x40\1", b"\x42\1", b"\x4e\1", b"\x26\1\x88", b"\2\1\x88"]), _body
    ).map(b"".join),
}
_SLICE = {VideoCodec.H264: b"\x41\x88\x01", VideoCodec.H265: b"\x02\1\x88\x01"}


def a_sender(**changes: int) -> RtpSender:
    return RtpSender(**({"ssrc": 7, "payload_type": 96, "sequence": 65_534} | changes))


def returned(codec: VideoCodec, unit: Packets) -> list[AccessUnit]:
    """What a reader makes of a client's frames."""
    reader = RtpReader(ReaderSpec(codec=codec, payload_type=96))
    frames = StreamDecoder().feed(b"".join(a_sender().frames(unit, 900)))
    payloads = [frame.payload for frame in frames if isinstance(frame, Interleaved)]
    found = [each for payload in payloads for each in reader.receive(payload)]
    return [each for each in found if isinstance(each, AccessUnit)]


@pytest.mark.parametrize("codec", NAL_CODECS)
@given(st.data())
def test_any_access_unit_comes_back_whole(codec, data):
    nals = [*data.draw(st.lists(_NALS[codec], max_size=5)), _SLICE[codec]]
    unit = packetize(codec, join(nals), largest=data.draw(st.integers(5, 500)))
    (read,) = returned(codec, unit)
    back = [bytes(nal) for nal in split(read.content)]
    assert back[-len(nals) :] == nals  # a keyframe may have got parameter sets in front
    assert read.timestamp == 900


@pytest.mark.parametrize("codec", NAL_CODECS)
def test_real_units_come_back_whole(codec):
    for content in clip(codec):
        (read,) = returned(codec, packetize(codec, content))
        assert list(split(read.content)) == list(split(content))


@pytest.mark.parametrize(
    ("codec", "largest"), [(VideoCodec.H264, 3), (VideoCodec.H265, 4), (VideoCodec.H264, 65_524), (VideoCodec.H265, 0)]
)
def test_sizes_that_cannot_be_are_refused(codec, largest):
    with pytest.raises(UnfitPayload) as refused:
        packetize(codec, b"", largest=largest)
    assert str(largest) in str(refused.value)


def test_small_units_before_the_picture_share_a_packet():
    unit = packetize(VideoCodec.H264, keyframe_h264())
    assert len(unit.payloads) == 2
    assert unit.before_picture == 1
    assert len(packetize(VideoCodec.H264, keyframe_h264(), largest=36).payloads) == 4


def test_a_message_is_put_before_the_picture_without_cutting_anew():
    unit = packetize(VideoCodec.H264, keyframe_h264())
    told = unit.with_message(b"\x06hello")
    (read,) = returned(VideoCodec.H264, told)
    assert [bytes(nal) for nal in split(read.content)] == [SPS_H264, PPS_H264, b"\x06hello", slice_h264(key=True)]
    assert told.payloads[-1] is unit.payloads[-1]


def test_all_clients_share_the_payloads():
    unit = packetize(VideoCodec.H264, keyframe_h264(5000))
    one, other = a_sender(ssrc=1).frames(unit, 0), a_sender(ssrc=2, channel=4).frames(unit, 0)
    assert all(mine is theirs for mine, theirs in zip(one[1::2], other[1::2], strict=True))
    assert one[0] != other[0]


def test_frames_and_datagrams_are_the_same_packets():
    unit = packetize(VideoCodec.H264, keyframe_h264(5000))
    frames = StreamDecoder().feed(b"".join(a_sender(offset=5).frames(unit, 2**32)))
    payloads = [bytes(frame.payload) for frame in frames if isinstance(frame, Interleaved)]
    assert payloads == a_sender(offset=5).datagrams(unit, 2**32)


def test_a_unit_of_nothing_is_no_packet():
    nothing = packetize(VideoCodec.H265, b"\0\0\1\x42")
    assert nothing.payloads == ()
    assert a_sender().frames(nothing, 0) == []
    assert a_sender().datagrams(nothing, 0) == []


def test_a_report_tells_what_was_sent():
    sender = a_sender(offset=2**32 - 1)
    unit = packetize(VideoCodec.H264, keyframe_h264(5000))
    sender.frames(unit, 0)
    sender.datagrams(unit, 0)
    report = sender.report(1000.0, 2)
    assert (report.packets, report.octets) == (2 * len(unit.payloads), 2 * unit.octets)
    assert (report.timestamp, report.ssrc, report.wall_time) == (1, 7, 1000.0)
    assert sender.sequence == (65_534 + 2 * len(unit.payloads)) & 0xFFFF
