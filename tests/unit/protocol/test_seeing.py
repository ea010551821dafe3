"""What may be said of where things count and how sure a detector must be."""

import math
from typing import Any

import msgspec
import pytest

from streamward.leases.holder import MOST_ASKED
from streamward.model.zone import Zone
from streamward.protocol import seeing
from streamward.protocol.codec import InvalidMessage, convert
from streamward.protocol.seeing import (
    LARGEST_THRESHOLDS,
    LARGEST_ZONES,
    MOST_THRESHOLDS,
    MOST_ZONES,
    Thresholds,
    ZoneShape,
    ZoneShapes,
)
from streamward.protocol.shards import SHARD_SIZE, Source
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


def test_a_zone_that_leaves_out_tells_of_nobody_who_stays():
    with pytest.raises(ValueError, match=r"^the zone road leaves out: nobody is told of who stays in it$"):
        seeing.check([ZoneShape(name="road", points=TRIANGLE, leaves_out=True, dwell_s=30.0)])


@pytest.mark.parametrize(
    "points",
    [[(0.1, 0.1), (0.3, 0.3), (0.2, 0.2)], [(0.5, 0.5)] * 3, [(0, 1 / 3), (1, 1 / 3), (0, 1 / 3), (0.7, 1 / 3)]],
)
def test_points_on_one_line_are_no_zone(points):
    with pytest.raises(ValueError, match=r"^the points of the zone door lie on one line: it has no inside$"):
        seeing.check([ZoneShape(name="door", points=points)])


@pytest.mark.parametrize(
    "points",
    [[(0, 0), (1, 1), (1, 0), (0, 1)], [(0, 0), (1e-4, 0), (0, 1e-4)], [(0.1, 0.1), (0.1, 0.1), (0.2, 0.1), (0, 1)]],
)
def test_a_zone_may_cross_itself_and_be_small(points):
    seeing.check([ZoneShape(name="door", points=points)])


def test_what_is_not_named_is_not_judged():
    seeing.check(msgspec.UNSET)


def test_a_camera_does_not_say_more_than_a_runner_can_be_told_of_a_thousand():
    points = [(number / 64, (1 + number % 2) / 3) for number in range(64)]
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
    seeing.check(msgspec.UNSET, {label: 0.5})


@pytest.mark.parametrize(
    ("thresholds", "why"),
    [
        ({"": 0.5}, "1 to 64 characters that can be read, unlike ''"),
        ({"x" * 65: 0.5}, "unlike 'x{64}'$"),
        ({"a\nb": 0.5}, r"unlike 'a\\nb'"),
        ({"a\n": 0.5}, "unlike"),
        ({"\x85": 0.5}, "unlike"),
        ({"\udcff": 0.5}, r"unlike '\\udcff'"),
        ({"person": 1.1}, "the threshold of person is 1.1, and must be from 0 to 1"),
        ({"car": 0.5, "person": -0.1}, "the threshold of person is -0.1"),
        ({"person": math.nan}, "the threshold of person is nan"),
    ],
)
def test_other_labels_and_numbers_are_refused(thresholds, why):
    with pytest.raises(ValueError, match=why):
        seeing.check(msgspec.UNSET, thresholds)


def test_nobody_names_endless_labels():
    with pytest.raises(ValueError, match="at most 256 thresholds, and not 257"):
        seeing.check(msgspec.UNSET, {str(number): 0.5 for number in range(MOST_THRESHOLDS + 1)})


def test_a_shard_s_own_config_is_judged_too():
    source = {"camera_uuid": "cam-1", "url": "rtsp://192.0.2.7/", "site_id": "s", "tenant_id": "t"}
    with pytest.raises(InvalidMessage, match="the threshold of person is 2"):
        convert({**source, "thresholds": {"person": 2}}, Source)


def test_who_reads_the_api_s_description_knows_the_limits_of_thresholds():
    schema = msgspec.json.schema(Thresholds)
    assert schema["maxProperties"] == MOST_THRESHOLDS
    assert {"minLength": 1, "maxLength": 64}.items() <= schema["propertyNames"].items()
    assert schema["additionalProperties"] == {"type": "number", "minimum": 0, "maximum": 1}


def test_what_cameras_say_fits_into_one_answer_and_one_shard_s_into_one_message_to_a_worker():
    one = LARGEST_ZONES + LARGEST_THRESHOLDS + 4096  # where it is and what it logs in with
    assert one * MOST_ASKED < LARGEST_ANSWER
    assert one * SHARD_SIZE < LONGEST
