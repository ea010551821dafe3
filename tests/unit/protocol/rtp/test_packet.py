"""RTP packets."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtp.packet import MalformedPacket, RtpPacket, build, parse

PLAIN = RtpPacket(96, True, 65535, 0xFFFF_FFFF, 1, memoryview(b"payload"))


def with_first(first: int, rest: bytes) -> memoryview:
    """A packet with these bits in its first byte and this after its fixed header."""
    return memoryview(bytes([first]) + build(PLAIN)[1:12] + rest)


@given(st.integers(0, 127), st.booleans(), st.integers(0, 65535), st.integers(0, 2**32 - 1), st.binary(max_size=50))
def test_a_packet_is_built_and_read_alike(kind, marker, sequence, number, payload):
    packet = RtpPacket(kind, marker, sequence, number, number ^ 1, memoryview(payload))
    assert parse(memoryview(build(packet))) == packet


@pytest.mark.parametrize(
    ("first", "rest", "payload"),
    [
        (0x82, b"\1\1\1\1\2\2\2\2abc", b"abc"),
        (0x90, b"\xbe\xde\0\1\0\0\0\0abc", b"abc"),
        (0x90, b"\xbe\xde\0\0", b""),
        (0xA0, b"abc\0\2", b"abc"),
        (0xB1, b"\1\1\1\1\0\0\0\0abc\1", b"abc"),
    ],
)
def test_what_stands_around_a_payload_is_left_out(first, rest, payload):
    assert parse(with_first(first, rest)).payload == payload


@pytest.mark.parametrize(
    "content",
    [
        memoryview(bytes(11)),
        with_first(0x00, b"abc"),
        with_first(0x8F, b"abc"),
        with_first(0x90, b"ab"),
        with_first(0x90, b"ab\0\2abcd"),
        with_first(0xA0, b"abc\0"),
        with_first(0xA0, b"abc\7"),
    ],
)
def test_what_is_no_packet_is_refused(content):
    with pytest.raises(MalformedPacket) as refused:
        parse(content)
    assert "not a packet" in str(refused.value)


@given(st.binary(max_size=60))
def test_no_bytes_raise_anything_else(content):
    with suppress(MalformedPacket):
        assert len(parse(memoryview(b"\xb3" + content)).payload) <= len(content)
