"""CSV of cameras: what is written reads the same, and what is wrong is told without repeating it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.secret import Secret
from streamward.model.video import DecodeMode
from streamward.protocol.camera_csv import COLUMNS, WRITTEN, read, write
from streamward.protocol.cameras import MOST_LABELS
from streamward.protocol.codec import InvalidMessage
from streamward.protocol.fields import ClearText
from streamward.protocol.seeing import ZoneShape
from streamward.protocol.transfer import CameraLine

IDS = st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True)
LABELS = st.dictionaries(
    st.from_regex(r"[A-Za-z0-9_.-]{1,8}", fullmatch=True),
    st.from_regex(r"[^\x00-\x1f\x7f]{0,8}", fullmatch=True),
    max_size=MOST_LABELS,
)
PARTS = st.floats(0, 1)
ZONES = st.builds(
    ZoneShape,
    name=IDS,
    points=st.lists(st.tuples(PARTS, PARTS), max_size=2).map(lambda more: [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), *more]),
    leaves_out=st.booleans(),
    dwell_s=st.none() | st.floats(1, 86_400),
).filter(lambda zone: not (zone.leaves_out and zone.dwell_s))
LINES = st.builds(
    CameraLine,
    camera_uuid=IDS,
    site_id=IDS,
    rtsp_url=st.just(ClearText(Secret("rtsp://***@192.0.2.7/a,b?c=%3B"))),
    enabled=st.booleans(),
    do_not_process=st.booleans(),
    tls_fingerprint=st.none() | st.from_regex(r"[0-9a-f]{64}", fullmatch=True),
    detector=st.none() | IDS,
    max_fps=st.none() | st.floats(min_value=1e-9, max_value=240),
    decode=st.none() | st.sampled_from(DecodeMode),
    detect_every_n_frames=st.none() | st.integers(1, 1000),
    zones=st.lists(ZONES, max_size=2, unique_by=lambda zone: zone.name),
    thresholds=st.dictionaries(st.from_regex(r"[^\x00-\x1f\x7f-\x9f]{1,8}", fullmatch=True), PARTS, max_size=3),
    labels=LABELS,
)


def one(text: str) -> CameraLine:
    [(_, line)] = read(text)
    assert isinstance(line, CameraLine), line
    return line


def fault(text: str) -> tuple[int, str]:
    number, line = list(read(text))[-1]
    assert isinstance(line, InvalidMessage)
    return number, str(line)


@given(st.lists(LINES, min_size=1, max_size=3))
def test_what_is_written_reads_the_same(lines):
    assert [line for _, line in read(write(lines, with_header=True))] == lines


def test_parts_make_one_file():
    line = CameraLine(camera_uuid="a", site_id="s", rtsp_url=ClearText(Secret("rtsp://192.0.2.7/1")))
    text = write([line], with_header=True) + write([line], with_header=False)
    assert text.count("camera_uuid") == 1
    assert len(list(read(text))) == 2


def test_a_column_that_is_not_there_and_an_empty_cell_leave_a_field_alone():
    assert one("camera_uuid\ncam-1\n") == CameraLine(camera_uuid="cam-1")
    assert one("camera_uuid,site_id,rtsp_url,username,password,enabled\ncam-1,,,,,\n") == CameraLine(
        camera_uuid="cam-1"
    )


def test_an_empty_cell_empties_what_may_be_none():
    expected = CameraLine(camera_uuid="cam-1", detector=None, max_fps=None, decode=None, labels={})
    assert one("camera_uuid,detector,max_fps,decode,labels\ncam-1,,,,\n") == expected
    seen = CameraLine(camera_uuid="cam-1", detect_every_n_frames=None, zones=[], thresholds={})
    assert one("camera_uuid,detect_every_n_frames,zones,thresholds\ncam-1,,,\n") == seen


def test_zones_and_thresholds_are_json():
    zone = ZoneShape(name="door", points=[(0, 0), (1, 0), (1, 1)])
    line = CameraLine(camera_uuid="cam-1", zones=[zone], thresholds={"person": 0.5, "*": 0.25})
    text = write([line], with_header=True)
    assert '"{""person"":0.5,""*"":0.25}"' in text
    short = 'zones\n"[{""name"":""door"",""points"":[[0,0],[1,0],[1,1]]}]"\n'
    assert one(short).zones == one(text).zones == [zone]


def test_a_cell_that_a_spreadsheet_would_calculate_is_guarded():
    text = write([CameraLine(camera_uuid="-1", site_id="s", labels={"-a": "=1"})], with_header=False)
    assert text.startswith("'-1,,s,")
    assert "'-a==1" in text


def test_a_password_is_taken_as_it_is():
    line = one("camera_uuid,username,password\ncam-1,=ada,'-x \n")
    assert line.username == ClearText(Secret("=ada"))
    assert line.password == ClearText(Secret("'-x "))


@pytest.mark.parametrize(
    ("cell", "labels"), [("a=b; c=d;", {"a": "b", "c": "d"}), ("a=50%;b=x%3By%25", {"a": "50%", "b": "x;y%"})]
)
def test_labels_are_pairs(cell, labels):
    assert one(f"labels\n{cell}\n").labels == labels


@pytest.mark.parametrize(
    "text",
    [
        "camera_uuid,enabled\r\ncam-1,TRUE\r\n",
        'enabled,"camera_uuid"\n true ,cam-1',
        "camera_uuid, enabled\rcam-1,true",
    ],
)
def test_line_ends_quotes_and_spaces_are_borne(text):
    assert one(text) == CameraLine(camera_uuid="cam-1", enabled=True)


def test_a_line_has_the_number_at_which_it_begins():
    text = 'camera_uuid,labels\n\ncam-1,"a=b\nc"\ncam-2,\n'
    assert [number for number, _ in read(text)] == [2, 3, 5]


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        ("", 1, "must name the columns"),
        ("cam-1,site-a,rtsp://ada:hunter2@192.0.2.7/1,hunter2\n", 1, "must name the columns"),
        ("camera_uuid;site_id\n", 1, "must name the columns"),
        ("camera_uuid,colour\n", 1, "no column `colour`"),
        ("camera_uuid,rtsp://ada:hunter2@192.0.2.7/1\n", 1, "no column number 2"),
        ("camera_uuid,site_id,camera_uuid\n", 1, "`camera_uuid` is there twice"),
        ("camera_uuid,site_id\ncam-1\n", 2, "1 cells and the header 2"),
        ('camera_uuid\ncam-1\n"cam-2\n', 3, "this is not CSV"),
        ('camera_uuid\n"cam"-1\n', 2, "this is not CSV"),
        ("camera_uuid\n=1+1\n", 2, "camera_uuid"),
        ("enabled\nperhaps\n", 2, "enabled must be true or false"),
        ("max_fps\nnan\n", 2, "max_fps must be a number"),
        ("max_fps\n1e9\n", 2, "max_fps"),
        ("decode\nsome\n", 2, "decode"),
        ("detect_every_n_frames\n1.5\n", 2, "detect_every_n_frames"),
        ("detect_every_n_frames\n1e300\n", 2, "detect_every_n_frames"),
        ("zones\ndoor\n", 2, "zones must be JSON, as the API has it: JSON is malformed"),
        ('zones\n"[{""name"":""door"",""points"":[[0,0]]}]"\n', 2, "the zone door 1"),
        ('thresholds\n"{""a"":0.5,""a"":0.4}"\n', 2, "as the API has it: a field is given twice"),
        ('thresholds\n"{""a"":2}"\n', 2, "the threshold of a is 2, and must be from 0 to 1"),
        ("labels\na\n", 2, "name=value;name=value"),
        ("labels\na=1;a=2\n", 2, "each name once"),
        ("labels\na b=1\n", 2, "labels"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_by_its_place(text, number, words):
    place, told = fault(text)
    assert (place, words in told) == (number, True), told
    assert "hunter2" not in told


def test_every_field_has_a_column():
    assert set(COLUMNS) - set(WRITTEN) == {"username", "password"}
