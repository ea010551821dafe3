"""A note inside a video stream: which camera sent which frame when, beside the picture and without touching it.

It is a NAL unit of supplemental information (user data, unregistered) in front of a frame's slices: decoders skip it,
and whoever wants to measure the way from the camera to the event reads it.
"""

import struct
from dataclasses import dataclass

from streamward.model.video import VideoCodec

_OURS = bytes.fromhex("5d1f0c1e8a5b4e6f9b1e73747265616d")
_BODY = struct.Struct(">QQ")  # the running frame number, microseconds since 1970
_HEADS = {VideoCodec.H264: b"\x06", VideoCodec.H265: b"\x4e\x01"}
_USER_DATA = 5
_STOP = b"\x80"
_LONGEST_NAME = 64


@dataclass(frozen=True, slots=True)
class SentFrame:
    """What the note says."""

    camera: str
    number: int
    sent_at_us: int


def write(note: SentFrame, *, codec: VideoCodec) -> bytes:
    """The NAL unit, without a start code."""
    payload = _OURS + _BODY.pack(note.number, note.sent_at_us) + note.camera.encode()[:_LONGEST_NAME]
    return _HEADS[codec] + _escaped(bytes((_USER_DATA, len(payload))) + payload + _STOP)


def read(nal: bytes | memoryview, *, codec: VideoCodec) -> SentFrame | None:
    """What a NAL unit says, if it is such a note."""
    head = _HEADS[codec]
    if bytes(nal[: len(head)]) != head:
        return None
    content = bytes(nal[len(head) : 512]).replace(b"\x00\x00\x03", b"\x00\x00")
    if len(content) < 2 or content[0] != _USER_DATA:
        return None
    payload = content[2 : 2 + content[1]]
    if len(payload) != content[1] or not payload.startswith(_OURS) or len(payload) < len(_OURS) + _BODY.size:
        return None
    number, sent_at = _BODY.unpack_from(payload, len(_OURS))
    return SentFrame(payload[len(_OURS) + _BODY.size :].decode(errors="replace"), number, sent_at)


def _escaped(content: bytes) -> bytes:
    """With emulation prevention: three bytes that look like a start code must not appear."""
    written, zeros = bytearray(), 0
    for byte in content:
        if zeros == 2 and byte <= 3:
            written.append(3)
            zeros = 0
        written.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return bytes(written)
