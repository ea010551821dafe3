"""Zones, thresholds and how often to look, as they are typed."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from streamward.cli.seeing import check_one_reader, seeing
from streamward.protocol.seeing import ZoneShape

TRIANGLE = [[0, 0], [1, 0], [1, 1]]
DOOR = {"name": "door", "points": TRIANGLE}


def written(folder: Path, content: Any) -> str:
    (folder / "zones.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return str(folder / "zones.json")


def test_what_is_not_typed_is_not_named():
    assert seeing(None, None, None) == {}
    assert seeing(None, [], None) == {}


def test_a_file_of_zones_is_read(tmp_path):
    assert seeing(written(tmp_path, [DOOR]), None, None) == {
        "zones": [ZoneShape(name="door", points=[(0, 0), (1, 0), (1, 1)])]
    }


def test_none_and_0_take_away():
    assert seeing("none", ["none"], 0) == {"zones": [], "thresholds": {}, "detect_every_n_frames": None}


def test_thresholds_are_labels_with_numbers():
    named = seeing(None, ["person=0.5", "*=1", "a=b=0.25", "traffic light=.3"], 7)
    assert named == {
        "thresholds": {"person": 0.5, "*": 1.0, "a=b": 0.25, "traffic light": 0.3},
        "detect_every_n_frames": 7,
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            [DOOR | {"points": TRIANGLE[:2]}],
            "zones.json: a polygon has 3 to 64 points, and the zone door 2 - at `.\\[0\\]`",
        ),
        ([DOOR | {"points": [*TRIANGLE, [2, 0]]}], "the zone door has a point at 2, 0, outside of the picture"),
        ([DOOR, DOOR], "two zones have the name door: each needs its own$"),
        ([DOOR | {"points": [[0, 0], [1, 1], [0, 0]]}], "the points of the zone door lie on one line"),
        ([DOOR | {"leaves_out": True, "dwell_s": 9}], "the zone door leaves out"),
        ([{"points": TRIANGLE}], "missing required field `name`"),
        (DOOR, "Expected `array`"),
        ("[", "zones.json: .*truncated"),
        ("[" + " " * (1 << 20), "too large"),
    ],
)
def test_a_bad_file_is_told_in_words(tmp_path, content, words):
    with pytest.raises(typer.BadParameter, match=words):
        seeing(written(tmp_path, content), None, None)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(typer.BadParameter, match="cannot be read"):
        seeing(str(tmp_path / "absent.json"), None, None)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        (["person"], "LABEL=NUMBER"),
        (["a=1", "a=0.5"], "each label once"),
        (["a=x"], "'x' is no number"),
        (["a=1.5"], "the threshold of a is 1.5"),
        (["a=nan"], "the threshold of a is nan"),
        (["=0.5"], "a label has 1 to 64"),
        (["none", "a=1"], "LABEL=NUMBER"),
        ([f"{number}=0.5" for number in range(300)], "at most 256 thresholds, and not 300"),
        ([f"{number:064}=0.5" for number in range(200)], "at most 8 KiB"),
    ],
)
def test_a_bad_threshold_is_told(typed, words):
    with pytest.raises(typer.BadParameter, match=words) as told:
        seeing(None, typed, None)
    assert told.value.param_hint == "--threshold"


def test_standard_input_is_read_once():
    check_one_reader("-", Path("password"))
    check_one_reader("zones.json", Path("-"))
    with pytest.raises(typer.BadParameter, match="cannot both"):
        check_one_reader("-", Path("-"))
