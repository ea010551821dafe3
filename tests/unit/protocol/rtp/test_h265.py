"""H.265 payloads."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtp import h265
from streamward.protocol.rtp.nal import KEY, PARAMETER, PICTURE, UnitBuffer, join


def unpacked(*payloads: bytes) -> UnitBuffer | None:
    unit = UnitBuffer()
    return unit if all(h265.unpack(memoryview(payload), unit) for payload in payloads) else None


@pytest.mark.parametrize(
    ("kind", "kinds"), [(0, PICTURE), (1, PICTURE), (19, PICTURE | KEY), (21, PICTURE | KEY), (33, PARAMETER), (39, 0)]
)
def test_what_a_nal_unit_is(kind, kinds):
    assert h265.kinds_of(bytes([kind << 1, 1])) == kinds


@given(st.integers(0, 47), st.integers(0, 1), st.binary(min_size=1, max_size=200), st.integers(5, 250))
def test_fragments_are_put_together_again(kind, layer, body, largest):
    nal = bytes([kind << 1 | layer]) + body
    payloads = list(h265.fragments(nal, largest))
    assert max(map(len, payloads)) <= largest
    unit = unpacked(*payloads)
    assert unit is not None
    assert unit.content == join([nal])


@given(st.lists(st.binary(max_size=60).map(lambda body: b"\x42\1" + body), min_size=1, max_size=5))
def test_aggregates_are_taken_apart_again(nals):
    unit = unpacked(h265.aggregate(nals))
    assert unit is not None
    assert unit.content == join(nals)
    assert unit.parameters == nals


def test_an_aggregate_has_the_lowest_ids_of_its_units():
    assert h265.aggregate([b"\x43\x0bx", b"\x42\x13y"])[:2] == bytes([48 << 1, 0x13])


def test_the_first_slice_of_a_picture_is_known():
    nal = b"\x02\1\x88" + bytes(9)
    for payloads in ([nal], h265.fragments(nal, 6), [h265.aggregate([nal])]):
        unit = unpacked(*payloads)
        assert unit is not None
        assert unit.starts_picture


@pytest.mark.parametrize(
    "payloads",
    [
        [b""],
        [b"\x02"],
        [b"\x62\1\x81"],
        [b"\x62\1\1x"],
        [b"\x60\1"],
        [b"\x60\1\0"],
        [b"\x60\1\0\1x"],
        [b"\x60\1\0\x09ab"],
        [b"\x60\1\0\2\x60\1"],
        [b"\x60\1\0\2\x42\1x"],
        [b"\x64\1"],
    ],
)
def test_what_makes_no_sense_spoils_the_unit(payloads):
    assert unpacked(*payloads) is None


@given(st.lists(st.binary(max_size=50), max_size=10))
def test_no_payload_raises(payloads):
    unpacked(*payloads)
