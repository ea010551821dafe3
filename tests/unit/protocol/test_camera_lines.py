"""Files of cameras, read line by line."""

import pytest

from streamward.protocol.camera_lines import MOST_LINES, read, write
from streamward.protocol.codec import MalformedMessage
from streamward.protocol.seeing import ZoneShape
from streamward.protocol.transfer import CSV, JSON_LINES, CameraLine

LINE = CameraLine(camera_uuid="cam-1")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"camera_uuid":"cam-1"}', JSON_LINES),
        (b'\xef\xbb\xbf{"camera_uuid":"cam-1"}\r\n\r\n', JSON_LINES),
        (b"camera_uuid\ncam-1", CSV),
        (b"\xef\xbb\xbfcamera_uuid\r\ncam-1\r\n\r\n", CSV),
    ],
)
def test_a_file_is_read_with_and_without_a_mark_and_with_any_line_ends(content, kind):
    assert [line for _, line in read(content, kind)] == [LINE]


def test_one_bad_line_does_not_hide_the_next():
    content = (
        b'{"camera_uuid":7}\nnonsense\n{"x":1}\n{"camera_uuid":"a","camera_uuid":"b"}\n\xff\n{"camera_uuid":"cam-1"}'
    )
    found = list(read(content, JSON_LINES))
    assert [number for number, line in found if isinstance(line, MalformedMessage)] == [1, 2, 3, 4, 5]
    assert found[-1] == (6, LINE)


def test_what_is_not_utf_8_is_told_by_its_line():
    [(number, line)] = read(b"camera_uuid\ncam-1\n\xff\n", CSV)
    assert (number, str(line)) == (3, "the file is not UTF-8")


@pytest.mark.parametrize(
    ("first", "kind", "number"), [(b"", JSON_LINES, MOST_LINES + 1), (b"enabled\n", CSV, MOST_LINES + 2)]
)
def test_a_file_of_too_many_lines_is_read_to_its_last(first, kind, number):
    found = list(read(first + b"\n" * (MOST_LINES + 5), kind))
    assert [place for place, _ in found] == [number]
    assert "at most 10,000 lines" in str(found[0][1])


@pytest.mark.parametrize("kind", [CSV, JSON_LINES])
def test_what_is_written_in_parts_reads_the_same(kind):
    whole = CameraLine(
        camera_uuid="cam-1", site_id="s", enabled=True, detector=None, max_fps=None, decode=None, labels={"a": "b"},
        detect_every_n_frames=3, zones=[ZoneShape(name="a", points=[(0, 0), (1, 0), (1, 1)])], thresholds={"*": 0.5},
        tls_fingerprint="ab" * 32,
    )  # fmt: skip
    content = write([whole], kind, is_first=True) + write([whole], kind, is_first=False)
    assert [line for _, line in read(content, kind)] == [whole, whole]
