"""Detectors by their names: built in, offered by a package, or anybody's function; and names that are none."""

from pathlib import Path

import numpy as np
import pytest

from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.detectors.loading import DEFAULT_SIZE, load_detector
from streamward.model.detection import Box, Detection
from streamward.vision.detector import AnswerUnusable, DetectorUnusable, Size

MODULE = """
from streamward.model.detection import Box, Detection

def find(image):
    return [Detection("thing", 0.5, Box(0, 0, image.shape[1], image.shape[0]))]

def small(image):
    return []
small.size = (64, 36)

def nonsense(image):
    return "nothing"

class Model:
    size = (32, 32)
    def detect(self, image):
        return ()

class Needy:
    def __init__(self, weights): ...

huge = lambda image: []
huge.size = (100_000, 1)
odd = lambda image: []
odd.size = "large"
number = 7
"""
OFFERED = "[streamward.detectors]\noffered = anybodys_detectors:find\n"


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "anybodys_detectors.py").write_text(MODULE)
    (tmp_path / "broken_detectors.py").write_text("1 / 0\n")
    offer = tmp_path / "offering-1.0.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (offer / "entry_points.txt").write_text(OFFERED)
    monkeypatch.syspath_prepend(str(tmp_path))
    load_detector.cache_clear()


def test_the_built_in_detector_has_a_name_and_is_loaded_once():
    assert isinstance(load_detector("colour"), ColourDetector)
    assert load_detector("colour") is load_detector("colour")


def test_one_built_in_detector_sees_nothing():
    detector = load_detector("null")
    assert detector.detect(np.full((detector.size.height, detector.size.width, 3), 255, np.uint8)) == ()


@pytest.mark.parametrize("name", ["anybodys_detectors:find", "offered"])
def test_any_function_of_a_picture_is_a_detector(name):
    detector = load_detector(name)
    assert detector.size == DEFAULT_SIZE
    seen = detector.detect(np.zeros((360, 640, 3), np.uint8))
    assert seen == (Detection("thing", 0.5, Box(0, 0, 640, 360)),)


@pytest.mark.parametrize(
    ("name", "size"),
    [("anybodys_detectors:small", Size(64, 36)), ("anybodys_detectors:Model", Size(32, 32))],
)
def test_a_detector_says_what_size_it_wants_to_be_shown(name, size):
    detector = load_detector(name)
    assert detector.size == size
    assert detector.detect(np.zeros((size.height, size.width, 3), np.uint8)) == ()


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("colur", "it is not colour or null, no package offers it, and it is no module:function"),
        ("no_such_module:find", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("anybodys_detectors:lost", "AttributeError: module 'anybodys_detectors' has no attribute 'lost'"),
        ("broken_detectors:find", "ZeroDivisionError: division by zero"),
        ("anybodys_detectors:Needy", "TypeError: Needy.__init__() missing 1 required positional argument: 'weights'"),
        ("anybodys_detectors:number", "it is neither a function nor has it one named detect"),
        ("anybodys_detectors:huge", "its size of 100000 × 1 is not between 1 and 4096"),
        ("anybodys_detectors:odd", "its size is not a width and a height"),
    ],
)
def test_a_name_that_stands_for_no_detector_is_refused_in_one_sentence(name, why):
    with pytest.raises(DetectorUnusable) as refused:
        load_detector(name)
    assert str(refused.value) == f"the detector {name} cannot be used: {why}"


def test_an_answer_that_is_no_detections_is_refused():
    with pytest.raises(AnswerUnusable, match="a str instead of a list of detections"):
        load_detector("anybodys_detectors:nonsense").detect(np.zeros((360, 640, 3), np.uint8))
