"""Who enters, stays and leaves."""

from collections.abc import Mapping
from dataclasses import replace

from streamward.model.detection import Box, Detection
from streamward.model.zone import Crossing
from streamward.vision.detections import Detections
from streamward.vision.presence import OUT_FOR, Presence

BOX = Box(0, 0, 1, 1)


class Story:
    """Looks of one camera, and what was told of them."""

    def __init__(self, **dwells: float) -> None:
        self._presence = Presence(dwells)

    def look(self, at: float, standing: Mapping[int, tuple[str, ...]], *missed: int) -> list[tuple[str, str, int]]:
        """What happens when tracks stand in zones; those that are missed are still followed."""
        seen = replace(
            Detections.of(Detection("person", 0.9, BOX) for _ in standing),
            track_ids=tuple(standing),
            zones=tuple(standing.values()),
        )
        self.told = self._presence.look(seen, frozenset({*standing, *missed}), at)
        return [(each.kind.value, each.zone, each.track_id) for each in self.told]


def test_one_enters_once_and_leaves_once():
    story = Story()
    assert story.look(0.0, {1: ()}) == []
    assert story.look(1.0, {1: ("door",)}) == [("enter", "door", 1)]
    assert story.look(2.0, {1: ("door",)}) == []
    assert story.look(2.0 + OUT_FOR, {1: ()}) == []  # feet on an edge go to and fro
    assert story.look(2.1 + OUT_FOR, {1: ()}) == [("leave", "door", 1)]
    (left,) = story.told
    assert (left.at, left.stayed, left.label) == (2.0, 1.0, "person")
    assert story.look(9.0, {1: ("door",)}) == [("enter", "door", 1)]


def test_who_comes_back_to_a_zone_within_a_second_has_not_left():
    story = Story()
    story.look(0.0, {1: ("door",)})
    assert story.look(0.5, {1: ()}) == []
    assert story.look(0.9, {1: ("door",)}) == []


def test_who_is_missed_has_not_left_until_nobody_follows_it_any_more():
    story = Story()
    story.look(0.0, {1: ("door",), 2: ("door",)})
    assert story.look(5.0, {2: ("door",)}, 1) == []
    assert story.look(6.0, {2: ("door",)}) == [("leave", "door", 1)]
    assert story.told[0].at == 0.0


def test_who_stays_is_told_once_by_the_zones_own_time():
    story = Story(bench=10.0)
    story.look(0.0, {1: ("bench", "yard")})
    assert story.look(9.9, {1: ("bench", "yard")}) == []
    assert story.look(10.0, {1: ("bench", "yard")}) == [("dwell", "bench", 1)]
    assert (story.told[0].at, story.told[0].stayed, story.told[0].kind) == (10.0, 10.0, Crossing.DWELL)
    assert story.look(30.0, {1: ("bench", "yard")}) == []


def test_from_one_zone_into_the_next():
    story = Story()
    story.look(0.0, {1: ("door",)})
    assert story.look(2.0, {1: ("yard",)}) == [("leave", "door", 1), ("enter", "yard", 1)]
