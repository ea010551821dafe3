"""From a detector's picture to the camera's."""

from streamward.model.detection import Box, Detection
from streamward.vision.detector import Size, enlarged


def test_what_was_seen_small_is_told_large():
    seen = (Detection("car", 0.9, Box(10, 20, 30, 40)),)
    assert enlarged(seen, shown=Size(320, 180), sent=Size(1280, 720)) == (Detection("car", 0.9, Box(40, 80, 120, 160)),)
