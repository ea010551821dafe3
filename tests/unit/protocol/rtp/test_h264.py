"""H.264 payloads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtp import h264
from streamward.protocol.rtp.nal import DISPOSABLE, EXACT, KEY, PARAMETER, PICTURE, RECOVERY, UnitBuffer, join


def unpacked(*payloads: bytes) -> UnitBuffer | None:
    unit = UnitBuffer()
    return unit if all(h264.unpack(memoryview(payload), unit) for payload in payloads) else None


@pytest.mark.parametrize(
    ("first", "kinds"),
    [
        (0x65, PICTURE | KEY),
        (0x41, PICTURE),
        (0x01, PICTURE | DISPOSABLE),
        (0x67, PARAMETER),
        (0x68, PARAMETER),
        (6, 0),
    ],
)
def test_what_a_nal_unit_is(first, kinds):
    assert h264.kinds_of(bytes([first])) == kinds


@pytest.mark.parametrize(
    ("messages", "kinds"),
    [
        (b"", 0),
        (b"\x05\x02ab\x80", 0),
        (b"\x06", 0),
        (b"\x06\x01\xc4\x80", RECOVERY | EXACT),
        (b"\x06\x01\x24\x80", RECOVERY),
        (b"\x01\x03\0\0\3\x01\x06\x01\xc4\x80", RECOVERY | EXACT),  # behind another, with a byte that is no content
    ],
)
def test_a_recovery_point_is_found_among_the_messages_of_a_nal_unit(messages, kinds):
    nal = b"\x06" + messages
    assert h264.kinds_of(nal) == kinds
    for payload in (nal, h264.aggregate([nal])):
        unit = unpacked(payload)
        assert unit is not None
        assert unit.kinds == kinds


@pytest.mark.parametrize(
    ("slices", "is_intra"),
    [
        ([b"\x41\x88\xaa"], True),  # slice type 7
        ([b"\x41\x9a\xaa"], False),  # 5
        ([b"\x41\xb0\xaa", b"\x41\x10\xea\xaa"], True),  # 2; 2 from macroblock 7 on
        ([b"\x41\xb0\xaa", b"\x41\x11\xff\xaa"], False),  # 2; 0
        ([b"\x41"], False),
        ([b"\x41\x00"], False),
        ([b"\x67\x88"], False),
        ([], False),
    ],
)
def test_a_picture_is_intra_if_all_its_slices_are(slices, is_intra):
    assert h264.is_intra(join([b"\x09\x10", *slices])) is is_intra


@given(st.integers(0, 3), st.integers(1, 23), st.binary(max_size=200), st.integers(h264.SMALLEST_PAYLOAD, 250))
def test_fragments_are_put_together_again(importance, kind, body, largest):
    nal = bytes([importance << 5 | kind]) + body
    payloads = list(h264.fragments(nal, largest))
    assert max(map(len, payloads)) <= largest
    unit = unpacked(*payloads)
    assert unit is not None
    assert unit.content == join([nal])


@given(st.lists(st.binary(max_size=60).map(lambda body: b"\x67" + body), min_size=1, max_size=5))
def test_aggregates_are_taken_apart_again(nals):
    unit = unpacked(h264.aggregate(nals))
    assert unit is not None
    assert unit.content == join(nals)
    assert unit.parameters == nals


def test_the_first_slice_of_a_picture_is_known():
    for payloads in ([b"\x41\x88"], h264.fragments(b"\x41\x88" + bytes(9), 5), [h264.aggregate([b"\x41\x88"])]):
        unit = unpacked(*payloads)
        assert unit is not None
        assert unit.starts_picture


@pytest.mark.parametrize(
    "payloads",
    [
        [b""],
        [b"\x60"],
        [b"\x7c\x85"],
        [b"\x7c\x05x"],
        [b"\x78"],
        [b"\x78\0"],
        [b"\x78\0\0\0"],
        [b"\x78\0\x09ab"],
        [b"\x78\0\1\x78"],
        [b"\x78\0\1gx"],
        [b"\x79\0\1g"],
        [b"\x7f\0"],
    ],
)
def test_what_makes_no_sense_spoils_the_unit(payloads):
    assert unpacked(*payloads) is None


@given(st.lists(st.binary(max_size=50), max_size=10))
def test_no_payload_raises(payloads):
    unpacked(*payloads)
