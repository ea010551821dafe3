"""JPEG payloads."""

from typing import Any

import av
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtp.jpeg import END, JpegDepacketizer
from streamward.protocol.rtp.nal import KEY, PICTURE, UnitBuffer
from tests.support.jpegs import a_jpeg, jpeg_payload, jpeg_payloads, jpeg_segments, sent

TABLES = bytes(range(1, 129))
SCAN = b"scan" * 100


def unpacked(*payloads: bytes, by: JpegDepacketizer | None = None) -> bytes | None:
    unit, by = UnitBuffer(), by or JpegDepacketizer()
    if not all(by.unpack(memoryview(each), unit) for each in payloads):
        return None
    assert unit.kinds == PICTURE | KEY
    assert unit.starts_picture
    return bytes(unit.content)


def pixels(jpeg: bytes) -> np.ndarray[Any, Any]:
    decoder: Any = av.CodecContext.create("mjpeg", "r")
    frames = [*decoder.decode(av.Packet(jpeg)), *decoder.decode(None)]
    shown: np.ndarray[Any, Any] = frames[0].to_ndarray(format="rgb24")
    return shown


@pytest.mark.parametrize("largest", [50, 1400])
def test_a_picture_is_the_same_at_its_end(largest: int):
    jpeg = a_jpeg(320, 192)
    whole = unpacked(*jpeg_payloads(jpeg, largest=largest))
    assert whole is not None
    assert np.array_equal(pixels(whole + END), pixels(jpeg))


def test_headers_say_size_sampling_and_restarts():
    whole = unpacked(jpeg_payload(b"\0\7\xff\xff" + SCAN, kind=64, width=255, height=1))
    assert whole is not None
    found = jpeg_segments(whole)
    assert found[0xC0] == b"\x08\0\x08\x07\xf8\x03\x01\x21\0\x02\x11\x01\x03\x11\x01"
    assert found[0xDD] == b"\0\7"
    assert whole.endswith(b"\x3f\0" + SCAN)


def test_quantization_tables_are_scaled_by_the_quality():
    known = jpeg_segments(unpacked(jpeg_payload(SCAN, quality=50)) or b"")[0xDB]
    assert known[:9] == bytes([0, 16, 11, 12, 14, 12, 10, 16, 14])
    assert known[65:70] == bytes([1, 17, 18, 18, 24])
    assert jpeg_segments(unpacked(jpeg_payload(SCAN, quality=99)) or b"")[0xDB][1] == 1  # 0.32, and never 0
    assert jpeg_segments(unpacked(jpeg_payload(SCAN, quality=1)) or b"")[0xDB][1] == 255
    by = JpegDepacketizer()
    assert unpacked(jpeg_payload(SCAN), by=by) == unpacked(jpeg_payload(SCAN), by=by)


def test_quantization_tables_that_are_sent_are_remembered_by_their_quality():
    by = JpegDepacketizer()
    first = unpacked(jpeg_payload(sent(TABLES) + SCAN, quality=200), by=by)
    assert first is not None
    assert jpeg_segments(first)[0xDB] == b"\0" + TABLES[:64] + b"\1" + TABLES[64:]
    assert unpacked(jpeg_payload(sent(b"") + SCAN, quality=200), by=by) == first
    assert unpacked(jpeg_payload(sent(b"") + SCAN, quality=201), by=by) is None
    assert unpacked(jpeg_payload(sent(TABLES) + SCAN, quality=255), by=by) == first
    assert unpacked(jpeg_payload(sent(b"") + SCAN, quality=255), by=by) is None


@pytest.mark.parametrize(
    ("tables", "precision", "segment"),
    [
        (TABLES[:64], 0, b"\0" + TABLES[:64] + b"\1" + TABLES[:64]),
        (TABLES, 1, b"\x10" + TABLES + b"\x11" + TABLES),
        (TABLES + TABLES[:64], 1, b"\x10" + TABLES + b"\1" + TABLES[:64]),
        (TABLES + TABLES, 3, b"\x10" + TABLES + b"\x11" + TABLES),
    ],
)
def test_one_table_may_do_for_all_and_numbers_may_have_two_bytes(tables: bytes, precision: int, segment: bytes):
    whole = unpacked(jpeg_payload(sent(tables, precision=precision) + SCAN, quality=255))
    assert whole is not None
    assert jpeg_segments(whole)[0xDB] == segment


@pytest.mark.parametrize(
    "payloads",
    [
        [b""],
        [b"1234567"],
        [jpeg_payload(SCAN, offset=7)],  # its beginning is missing
        [jpeg_payload(SCAN), jpeg_payload(SCAN, offset=len(SCAN) + 1)],
        [jpeg_payload(SCAN, kind=2)],
        [jpeg_payload(SCAN, kind=128)],
        [jpeg_payload(SCAN, width=0)],
        [jpeg_payload(SCAN, quality=0)],
        [jpeg_payload(SCAN, quality=100)],
        [jpeg_payload(b"\0\0\0", quality=128)],
        [jpeg_payload(sent(TABLES[:63]) + SCAN, quality=128)],
    ],
)
def test_what_makes_no_sense_is_refused(payloads: list[bytes]):
    assert unpacked(*payloads) is None


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_no_payload_raises_an_error(payloads: list[bytes]):
    by, unit = JpegDepacketizer(), UnitBuffer()
    for each in payloads:
        by.unpack(memoryview(each), unit)
