"""JPEG as cameras send it in RTP packets (RFC 2435), encoded by PyAV."""

from fractions import Fraction
from typing import Any

import av
import numpy as np


def jpeg_payload(
    body: bytes, *, offset: int = 0, kind: int = 1, quality: int = 75, width: int = 40, height: int = 30
) -> bytes:
    """One packet's."""
    return offset.to_bytes(4) + bytes([kind, quality, width, height]) + body


def sent(tables: bytes, *, precision: int = 0) -> bytes:
    """Quantization tables with their header."""
    return bytes([0, precision]) + len(tables).to_bytes(2) + tables


def jpeg_segments(jpeg: bytes) -> dict[int, bytes]:
    """By marker, up to the scan."""
    found, position = {}, 2
    while jpeg[position + 1] != 0xDA:
        size = int.from_bytes(jpeg[position + 2 : position + 4])
        found[jpeg[position + 1]] = jpeg[position + 4 : position + 2 + size]
        position += 2 + size
    return found


def a_jpeg(width: int, height: int, form: str = "yuvj420p") -> bytes:
    """A picture that gets brighter from left to right."""
    encoder: Any = av.CodecContext.create("mjpeg", "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.time_base = width, height, form, Fraction(1, 25)
    encoder.options = {"huffman": "default", "force_duplicated_matrix": "1"}
    across = np.linspace(0, 255, width, dtype=np.uint8)
    picture = np.stack([np.tile(across, (height, 1))] * 3, axis=2)
    frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(format=form)
    return b"".join(bytes(packet) for packet in [*encoder.encode(frame), *encoder.encode(None)])


def jpeg_payloads(jpeg: bytes, *, largest: int = 1400) -> list[bytes]:
    """A picture as the payloads of several packets, with its quantization tables and restart markers."""
    found = jpeg_segments(jpeg)
    tables, size = found[0xDB], found[0xC0]
    quantization = tables[1:65] + (tables[66:130] if len(tables) > 65 else tables[1:65])
    scan = jpeg[jpeg.index(b"\xff\xda") + 14 : -2]
    kind, restart = (65, found[0xDD] + b"\xff\xff") if 0xDD in found else (1, b"")
    return [
        jpeg_payload(
            restart + (sent(quantization) if place == 0 else b"") + scan[place : place + largest],
            offset=place,
            kind=kind,
            quality=255,
            height=int.from_bytes(size[1:3]) // 8,
            width=int.from_bytes(size[3:5]) // 8,
        )
        for place in range(0, len(scan), largest)
    ]
