"""A file of cameras, read line by line: what is wrong with one does not hide what is wrong with the next."""

import codecs
import io
from collections.abc import Iterable, Iterator

from streamward.protocol import camera_csv
from streamward.protocol.codec import InvalidMessage, MalformedMessage, decode, encode
from streamward.protocol.transfer import CSV, CameraLine

LARGEST_FILE = 8 << 20  # bytes
MOST_LINES = 10_000

Read = CameraLine | MalformedMessage


def read(content: bytes, media_type: str) -> Iterator[tuple[int, Read]]:
    """Every line that is not empty, with its number; one too many is the last that is read."""
    whole = content.removeprefix(codecs.BOM_UTF8)
    for count, (number, line) in enumerate(_csv(whole) if media_type == CSV else _json_lines(whole)):
        if count >= MOST_LINES:
            yield number, InvalidMessage(f"a file has at most {MOST_LINES:,} lines: import it in parts")
            return
        if line is not None:
            yield number, line


def write(lines: Iterable[CameraLine], media_type: str, *, is_first: bool) -> bytes:
    """Lines as a part of a file."""
    if media_type == CSV:
        return camera_csv.write(lines, with_header=is_first).encode()
    return b"".join(encode(line) + b"\n" for line in lines)


def _csv(content: bytes) -> Iterator[tuple[int, Read | None]]:
    try:
        yield from camera_csv.read(content.decode())
    except UnicodeDecodeError as err:
        yield content.count(b"\n", 0, err.start) + 1, InvalidMessage("the file is not UTF-8")


def _json_lines(content: bytes) -> Iterator[tuple[int, Read | None]]:
    for number, text in enumerate(io.BytesIO(content), start=1):
        yield number, _decoded(text) if text.strip() else None


def _decoded(text: bytes) -> Read:
    try:
        return decode(text, CameraLine)
    except MalformedMessage as err:
        return err
