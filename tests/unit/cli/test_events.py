"""What happened at zones, in words."""

import pytest

from streamward.cli.events import happened, line


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


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"camera_id": "cam-1", "plate": "B\x07"}, 'plate.seen  cam-1  {"camera_id": "cam-1", "plate": "B\\u0007"}'),
        ({"plate": "B"}, 'plate.seen  {"plate": "B"}'),
    ],
)
def test_what_a_newer_control_plane_tells_is_printed_as_it_is(data: dict[str, str], said: str):
    assert line("plate.seen", data) == said


@pytest.mark.parametrize("kind", ["detection.new", "detection.alert"])
def test_a_detection_is_told_with_its_batch(kind: str):
    data = {
        "camera_id": "cam-1",
        "batch_id": "b",
        "label": "car",
        "confidence": 0.9,
        "timestamp": "2026-01-01T00:00:00Z",
    }
    assert line(kind, data).endswith(f"{kind:<15}  cam-1  b  car 0.90")
