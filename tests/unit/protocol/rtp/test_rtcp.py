"""RTCP reports, and the time of pictures."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtp import rtcp
from streamward.protocol.rtp.packet import MalformedPacket
from streamward.protocol.rtp.rtcp import Bye, ReceiverReport, SenderReport, WallClock


@given(st.integers(0, 2**32 - 1), st.floats(0, 2_000_000_000), st.text(max_size=300))
def test_a_report_is_written_and_read_alike(number, wall_time, cname):
    report = SenderReport(ssrc=number, wall_time=wall_time, timestamp=number, packets=5, octets=6)
    (read,) = rtcp.parse(report.encode(cname=cname))
    assert isinstance(read, SenderReport)
    assert read.wall_time == pytest.approx(wall_time, abs=1e-6)
    assert (read.ssrc, read.timestamp, read.packets, read.octets) == (number, number, 5, 6)


def test_receivers_and_goodbyes_are_read():
    receiver, bye = ReceiverReport(ssrc=4), Bye(ssrc=5)
    assert rtcp.parse(receiver.encode() + bye.encode()) == [receiver, ReceiverReport(ssrc=5), bye]


@pytest.mark.parametrize("content", [b"\x80\xc9", b"\x00\xc9\0\0", b"\x80\xc9\0\5\0\0\0\0"])
def test_what_is_no_report_is_refused(content):
    with pytest.raises(MalformedPacket):
        rtcp.parse(content)


@pytest.mark.parametrize(
    "content", [b"\x80\xc8\0\0", b"\x80\xc9\0\0", b"\x80\xcb\0\0", b"\x81\xcb\0\0", b"\x80\xcf\0\0", b""]
)
def test_reports_that_say_nothing_are_passed_over(content):
    assert rtcp.parse(content) == []


def test_the_number_of_reports_is_bounded():
    assert len(rtcp.parse(b"\x80\xc9\0\1\0\0\0\1" * 1000)) == rtcp.MOST_REPORTS


@given(st.binary(max_size=100))
def test_no_bytes_raise_anything_else(content):
    with suppress(MalformedPacket):
        rtcp.parse(content)


def test_the_time_of_a_picture_follows_the_newest_report():
    clock = WallClock(90_000)
    assert clock.at(5) is None
    clock.observe(SenderReport(ssrc=1, wall_time=1000.0, timestamp=0xFFFF_FFFF - 89_999))
    assert clock.at(0) == 1001.0
    assert clock.at(0xFFFF_FFFF - 179_999) == 999.0
    assert clock.at((7 << 32) + 90_000) == 1002.0
    clock.observe(SenderReport(ssrc=1, wall_time=2000.0, timestamp=0))
    assert clock.at(0) == 2000.0


def test_a_clock_that_was_never_set_tells_nothing():
    clock = WallClock(90_000)
    clock.observe(SenderReport(ssrc=1, wall_time=float(-rtcp.NTP_EPOCH), timestamp=0))
    assert clock.at(0) is None
