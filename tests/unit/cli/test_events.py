"""What happened at zones, in words."""

import pytest

from streamward.cli.events import happened


@pytest.mark.parametrize(
    ("kind", "stayed", "said"),
    [
        ("enter", 0.0, "person 7 entered door"),
        ("dwell", 30.2, "person 7 has been in door for 30 s"),
        ("leave", 41.6, "person 7 left door after 42 s"),
    ],
)
def test_a_zone_event_is_told_as_a_sentence(kind: str, stayed: float, said: str):
    assert happened({"type": kind, "zone": "door", "track_id": 7, "label": "person", "stayed_s": stayed}) == said
