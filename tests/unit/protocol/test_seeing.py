"""What may be said of where things count and how sure a detector must be."""

from typing import Any

import msgspec
import pytest

from streamward.model.zone import Zone
from streamward.protocol.seeing import MOST_THRESHOLDS, MOST_ZONES, Thresholds, ZoneShape, ZoneShapes, check_names, read

TRIANGLE = [(0.0, 0.5), (0.25, 0.5), (0.25, 1.0)]


def a_zone(**fields: Any) -> dict[str, Any]:
    return {"name": "door", "points": TRIANGLE, **fields}


def test_a_polygon_becomes_a_zone():
    shape = ZoneShape(name="door", points=TRIANGLE, leaves_out=True, dwell_s=30.0)
    assert read([shape]) == (Zone(name="door", corners=tuple(TRIANGLE), leaves_out=True, dwell_s=30.0),)


@pytest.mark.parametrize(
    ("zones", "why"),
    [
        ([a_zone(points=TRIANGLE[:2])], "length >= 3"),
        ([a_zone(points=TRIANGLE * 22)], "length <= 64"),
        ([a_zone(points=[(0, 0), (1, 0), (1, 1.01)])], "<= 1.0"),
        ([a_zone(points=[(0, 0), (1, 0), (1,)])], "length 2"),
        ([a_zone(name="a door")], "matching regex"),
        ([a_zone(dwell_s=0)], "> 0.0"),
        ([a_zone(dwell_s=86_401)], "<= 86400.0"),
        ([a_zone(colour="red")], "unknown field"),
        ([a_zone()] * (MOST_ZONES + 1), "length <= 32"),
    ],
)
def test_what_is_no_polygon_is_refused(zones, why):
    with pytest.raises(msgspec.ValidationError, match=why):
        msgspec.convert(zones, ZoneShapes)


def test_two_zones_of_one_name_are_refused():
    door, gate = (ZoneShape(name=name, points=TRIANGLE) for name in ("door", "gate"))
    check_names([door, gate])
    with pytest.raises(ValueError, match="two zones have the name door"):
        check_names([door, gate, door])


@pytest.mark.parametrize("label", ["*", "person", "traffic light", "Tür", "x" * 64])
def test_labels_are_what_detectors_call_things(label):
    assert msgspec.convert({label: 0.5}, Thresholds) == {label: 0.5}


@pytest.mark.parametrize(
    "thresholds",
    [{"": 0.5}, {"x" * 65: 0.5}, {"a\nb": 0.5}, {"a\n": 0.5}, {"\x85": 0.5}, {"person": 1.1}, {"person": -0.1}],
)
def test_other_labels_and_numbers_are_refused(thresholds):
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(thresholds, Thresholds)


def test_nobody_names_endless_labels():
    with pytest.raises(msgspec.ValidationError, match="length <= 256"):
        msgspec.convert({str(number): 0.5 for number in range(MOST_THRESHOLDS + 1)}, Thresholds)
