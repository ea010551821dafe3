"""From what a detector found to what is told."""

from streamward.model.detection import Box, Detection
from streamward.model.zone import Zone
from streamward.vision.detections import Detections
from streamward.vision.detector import Size
from streamward.vision.sight import Sight, believed
from streamward.vision.zones import EVERYWHERE, Zones

SIZE = Size(200, 100)
LEFT = Zone(name="left", corners=((0, 0), (0.5, 0), (0.5, 1), (0, 1)))
DOOR = Zone(name="door", corners=((0, 0.5), (0.25, 0.5), (0.25, 1), (0, 1)), leaves_out=True)


def standing(*feet: tuple[float, float], confidence: float = 0.9, label: str = "person") -> Detections:
    """Things whose feet are there, in parts of the picture."""
    return Detections.of(
        Detection(label, confidence, Box(x * 200 - 5, y * 100 - 30, x * 200 + 5, y * 100)) for x, y in feet
    )


def test_a_camera_says_how_sure_one_must_be_of_what():
    found = Detections.of([*standing((0.1, 0.9), confidence=0.3), *standing((0.9, 0.9), confidence=0.5, label="car")])
    assert believed(found, 0.4).labels == ("car",)
    assert believed(found, 0.4, {"person": 0.3}).labels == ("person", "car")
    assert believed(found, 0.4, {"person": 0.3, "*": 0.6}).labels == ("person",)
    assert believed(found, 0.4, {"*": 0.0}) == found
    assert believed(found, 0.4, {"car": 0.51}).labels == ()


def test_what_is_told_has_a_number_and_its_zones_and_keeps_its_pixels():
    sight = Sight(Zones((LEFT,)), {})
    told = sight.look(standing((0.25, 0.5), (0.75, 0.5)), SIZE, 0.0, least_sure=0.4)
    (seen,) = told.detections
    assert (seen.track_id, seen.zones, seen.box) == (1, ("left",), Box(45, 20, 55, 50))
    assert [(each.kind.value, each.zone, each.track_id) for each in told.zone_events] == [("enter", "left", 1)]


def test_a_thing_is_where_its_feet_are_and_nobody_hears_of_who_stands_in_a_zone_that_leaves_out():
    tall = Detections.of([Detection("person", 0.9, Box(20, 5, 40, 70))])  # its middle is above the door
    sight = Sight(Zones((DOOR,)), {})
    assert len(sight.look(tall, SIZE, 0.0, least_sure=0.0).detections) == 0
    assert [each.track_id for each in sight.look(standing((0.9, 0.9)), SIZE, 0.1, least_sure=0.0).detections] == [1]


def test_who_comes_into_a_zone_was_followed_before():
    sight = Sight(Zones((LEFT,)), {})
    walk = [sight.look(standing((0.8 - 0.04 * step, 0.5)), SIZE, step / 6, least_sure=0.0) for step in range(12)]
    assert [len(each.detections) for each in walk] == [0] * 8 + [1] * 4
    assert {seen.track_id for each in walk for seen in each.detections} == {1}


def test_a_picture_that_changes_its_size_changes_nobody():
    sight = Sight(EVERYWHERE, {})
    small = sight.look(standing((0.5, 0.5)), SIZE, 0.0, least_sure=0.0)
    large = sight.look(standing((0.5, 0.5)).scaled(4, 4), Size(800, 400), 0.2, least_sure=0.0)
    assert [each.track_id for each in (*small.detections, *large.detections)] == [1, 1]
    assert next(iter(large.detections)).box == Box(380, 80, 420, 200)
