"""The URLs of a session, as cameras mean them."""

import pytest

from streamward.model.source_url import SourceUrl, parse
from streamward.protocol.rtsp import location
from streamward.protocol.rtsp.message import Headers
from streamward.protocol.rtsp.sdp import Description, Track


def dialed(text: str = "rtsp://cam:8554/live?ch=1") -> SourceUrl:
    return parse(text).url


@pytest.mark.parametrize(
    ("headers", "base"),
    [
        ((), "rtsp://cam:8554/live?ch=1"),
        ((("Content-Base", "rtsp://10.0.0.7/live/"),), "rtsp://cam:8554/live/"),
        ((("Content-Base", "rtsp://admin:x@10.0.0.7:99/live?a=b/"),), "rtsp://cam:8554/live?a=b/"),
        ((("Content-Location", "rtsp://10.0.0.7/x"),), "rtsp://cam:8554/x"),
        ((("Content-Base", "/live"),), "rtsp://cam:8554/live?ch=1"),
    ],
)
def test_the_base_is_on_the_host_that_was_dialed(headers, base):
    assert location.base_of(dialed(), Headers(headers)) == base


@pytest.mark.parametrize(
    ("base", "control", "url"),
    [
        ("rtsp://cam/live/", "trackID=1", "rtsp://cam/live/trackID=1"),
        ("rtsp://cam/live", "trackID=1", "rtsp://cam/live/trackID=1"),
        ("rtsp://cam/live?ch=1", "trackID=1", "rtsp://cam/live?ch=1/trackID=1"),
        ("rtsp://cam/live", "?track=1", "rtsp://cam/live?track=1"),
        ("rtsp://cam/live", "/track1", "rtsp://cam/live/track1"),
        ("rtsp://cam/live", "RTSP://10.0.0.7:5/x/track1", "rtsp://cam:8554/x/track1"),
        ("rtsp://cam/live", "", "rtsp://cam/live"),
        ("rtsp://cam/live", "*", "rtsp://cam/live"),
    ],
)
def test_controls_are_put_behind_the_base(base, control, url):
    track = Track(media="video", payload_type=96, control=control)
    assert location.track_url(dialed(), base, track) == url
    assert location.aggregate_url(dialed(), base, Description(tracks=(), control=control)) == url


def test_a_url_without_a_path_keeps_its_host():
    assert location.base_of(dialed("rtsp://cam"), Headers((("Content-Base", "rtsp://x/y/"),))) == "rtsp://cam/y/"
