"""Session descriptions."""

import contextlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.video import VideoCodec
from streamward.protocol.rtsp.sdp import MOST_TRACKS, Description, MalformedDescription, Track, parse

H264 = Track(
    media="video",
    payload_type=96,
    encoding="H264",
    codec=VideoCodec.H264,
    control="trackID=0",
    packetization_mode=1,
    parameter_sets=(b"\x67abc", b"\x68abc"),
)
H265 = Track(
    media="video",
    payload_type=97,
    encoding="H265",
    codec=VideoCodec.H265,
    control="trackID=1",
    parameter_sets=(b"\x40\1v", b"\x42\1s", b"\x44\1p"),
)
AUDIO = Track(media="audio", payload_type=0, encoding="PCMU", clock_rate=8000)


def test_a_description_is_written_and_read_alike():
    description = Description(tracks=(AUDIO, H264, H265), control="*")
    assert parse(description.encode()) == description
    assert description.video() == H264


def test_tracks_without_parameter_sets_are_written_too():
    bare = Track(media="video", payload_type=97, encoding="H265", codec=VideoCodec.H265)
    scant = replace(bare, parameter_sets=(b"\x42\1s",))
    assert parse(Description(tracks=(bare, scant)).encode()).tracks == (bare, scant)


def test_careless_cameras_are_understood():
    body = b"\n".join([
        b"v=0",
        b"a=control:rtsp://h/",
        b"m=video 0 RTP/AVP 96 97",
        b"a=rtpmap:97 JPEG/90000",
        b"a=rtpmap:96 h264/0",
        b"a=fmtp:97 x=y",
        b"a=fmtp:96 profile-level-id=42; packetization-mode=9;sprop-parameter-sets=AAAAAWdhYmM,!!,aA==;odd",
        b"a=control:track1",
        b"a=control:track2",
        b"\xff\xfe",
    ])
    description = parse(body)
    assert description.control == "rtsp://h/"
    (track,) = description.tracks
    assert (track.codec, track.clock_rate, track.control) == (VideoCodec.H264, 90_000, "track1")
    assert track.packetization_mode == 0
    assert track.parameter_sets == (b"gabc",)


def test_other_codecs_are_named_but_not_shown():
    description = parse(b"m=video 0 RTP/AVP 34\r\nm=video 0 RTP/AVP 98\r\na=rtpmap:98 MP4V-ES/90000\r\nm=bad\r\n")
    assert [track.encoding for track in description.tracks] == ["H263", "MP4V-ES"]
    assert description.video() is None


@pytest.mark.parametrize("body", [b"m=video 0 RTP/AVP 26\r\n", b"m=video 0 RTP/AVP 96\r\na=rtpmap:96 JPEG/90000\r\n"])
def test_jpeg_needs_no_rtpmap(body: bytes):
    track = parse(body).video()
    assert track is not None
    assert (track.codec, track.parameter_sets) == (VideoCodec.MJPEG, ())


@pytest.mark.parametrize("body", [b"", b"v=0\r\n", b"m=video", b"m=video 0 RTP/AVP 999\r\n", b"a=control:x"])
def test_a_text_without_media_is_refused(body):
    with pytest.raises(MalformedDescription) as refused:
        parse(body)
    assert "no media" in str(refused.value)


def test_the_number_of_tracks_is_bounded():
    assert len(parse(b"m=video 0 RTP/AVP 96\n" * 900).tracks) == MOST_TRACKS


@given(st.binary(max_size=500), st.binary(max_size=100))
def test_no_body_raises_anything_else(body, fmtp):
    with contextlib.suppress(MalformedDescription):
        parse(body)
    parse(b"m=video 0 RTP/AVP 96\na=rtpmap:96 H265/90000\na=fmtp:96 sprop-vps=" + fmtp + b"\n" + body)
