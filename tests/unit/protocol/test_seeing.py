"""What may be said of where things count and how sure a detector must be."""

from typing import Any

import msgspec
import pytest

from streamward.leases.holder import MOST_ASKED
from streamward.model.zone import Zone
from streamward.protocol import seeing
from streamward.protocol.seeing import (
    LARGEST_THRESHOLDS,
    LARGEST_ZONES,
    MOST_THRESHOLDS,
    MOST_ZONES,
    Thresholds,
    ZoneShape,
    ZoneShapes,
)
from streamward.protocol.shards import SHARD_SIZE
from streamward.runtime.channel import LONGEST
from streamward.runtime.http_client import LARGEST_ANSWER

TRIANGLE = [(0.0, 0.5), (0.25, 0.5), (0.25, 1.0)]


def a_zone(**fields: Any) -> dict[str, Any]:
    return {"name": "door", "points": TRIANGLE, **fields}


def test_a_polygon_becomes_a_zone_and_the_zone_a_polygon():
    shape = ZoneShape(name="door", points=TRIANGLE, leaves_out=True, dwell_s=30.0)
    zone = Zone(name="door", corners=tuple(TRIANGLE), leaves_out=True, dwell_s=30.0)
    assert seeing.read([shape]) == (zone,)
    assert seeing.shapes([zone]) == [shape]


@pytest.mark.parametrize(
    ("zones", "why"),
    [
        ([a_zone(points=TRIANGLE[:2])], "a polygon has 3 to 64 points, and the zone door 2"),
        ([a_zone(points=TRIANGLE * 22)], "the zone door 66"),
        ([a_zone(points=[(0, 0), (1, 0), (1, 1.01)])], "the zone door has a point at 1, 1.01, outside of the picture"),
        ([a_zone(points=[(0, 0), (1, 0), (-1, 1)])], "a point at -1, 1, outside"),
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
    seeing.check([door, gate])
    with pytest.raises(ValueError, match="two zones have the name door: each needs its own"):
        seeing.check([door, gate, door])


def test_what_is_not_named_is_not_judged():
    seeing.check(msgspec.UNSET)


def test_a_camera_does_not_say_more_than_a_runner_can_be_told_of_a_thousand():
    points = [(number / 64, 1 / 3) for number in range(64)]
    zones = [ZoneShape(name=f"zone-{number}", points=points) for number in range(10)]
    assert len(msgspec.json.encode(zones)) > LARGEST_ZONES
    with pytest.raises(ValueError, match="at most 16 KiB"):
        seeing.check(zones)
    thresholds = {f"{number:03}".ljust(64, "x"): 0.5 for number in range(MOST_THRESHOLDS)}
    assert len(msgspec.json.encode(thresholds)) > LARGEST_THRESHOLDS
    with pytest.raises(ValueError, match="at most 8 KiB"):
        seeing.check([], thresholds)


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


def test_what_cameras_say_fits_into_one_answer_and_one_shard_s_into_one_message_to_a_worker():
    one = LARGEST_ZONES + LARGEST_THRESHOLDS + 4096  # where it is and what it logs in with
    assert one * MOST_ASKED < LARGEST_ANSWER
    assert one * SHARD_SIZE < LONGEST
