"""Detectors by their names: built in, offered by a package, or anybody's function; and names that are none."""

from pathlib import Path

import numpy as np
import pytest

from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.detectors.loading import DEFAULT_SIZE, FunctionDetector
from streamward.drivers.detectors.loading import load_detector as load_by_name
from streamward.drivers.detectors.motion import MotionDetector
from streamward.model.detection import Box, Detection
from streamward.protocol.shards import ModelsAt
from streamward.vision.detections import NOTHING
from streamward.vision.detector import Detector, Size, for_camera
from streamward.vision.unusable import AnswerUnusable, DetectorUnusable

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
NEEDY = 'raise ModuleNotFoundError("No module named onnxruntime", name="onnxruntime.capi")\n'

OFFERED = "[streamward.detectors]\noffered = anybodys_detectors:find\n"


def load_detector(name: str) -> Detector:
    return load_by_name(name, ModelsAt(folder="none"))


@pytest.fixture(autouse=True)
def _modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "anybodys_detectors.py").write_text(MODULE)
    (tmp_path / "broken_detectors.py").write_text("1 / 0\n")
    (tmp_path / "needy_detectors.py").write_text(NEEDY)
    offer = tmp_path / "offering-1.0.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: offering\nVersion: 1.0\n")
    (offer / "entry_points.txt").write_text(OFFERED)
    monkeypatch.syspath_prepend(str(tmp_path))
    load_by_name.cache_clear()


def test_the_built_in_detector_has_a_name_and_is_loaded_once():
    assert isinstance(load_detector("colour"), ColourDetector)
    assert load_detector("colour") is load_detector("colour")


def test_one_built_in_detector_sees_nothing():
    detector = load_detector("null")
    assert detector.detect(np.full((detector.size.height, detector.size.width, 3), 255, np.uint8)) == NOTHING


@pytest.mark.parametrize("name", ["anybodys_detectors:find", "offered"])
def test_any_function_of_a_picture_is_a_detector(name):
    detector = load_detector(name)
    assert detector.size == DEFAULT_SIZE
    seen = detector.detect(np.zeros((360, 640, 3), np.uint8))
    assert list(seen) == [Detection("thing", 0.5, Box(0, 0, 640, 360))]


@pytest.mark.parametrize(
    ("name", "size"),
    [("anybodys_detectors:small", Size(64, 36)), ("anybodys_detectors:Model", Size(32, 32))],
)
def test_a_detector_says_what_size_it_wants_to_be_shown(name, size):
    detector = load_detector(name)
    assert detector.size == size
    assert detector.detect(np.zeros((size.height, size.width, 3), np.uint8)) == NOTHING


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("colur", "it is not colour or null, no model or package has that name, and it is no module:function"),
        ("no_such_module:find", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("anybodys_detectors:lost", "AttributeError: module 'anybodys_detectors' has no attribute 'lost'"),
        ("needy_detectors:find", "it needs onnxruntime, which is not installed: install streamward[onnx]"),
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


def test_what_moves_is_found_by_an_eye_of_each_cameras_own():
    motion = FunctionDetector("motion", MotionDetector())
    one, other = for_camera(motion), for_camera(motion)
    still = np.full((180, 320, 3), 90, np.uint8)
    moved = still.copy()
    moved[40:80, 100:140] = 200
    assert one.detect(still) == one.detect(still) == NOTHING
    assert list(one.detect(moved)) == [Detection("motion", 1.0, Box(100, 40, 140, 80))]
    assert other.detect(moved) == NOTHING  # it has seen nothing else yet


def test_what_stays_becomes_background_and_another_scene_is_no_motion():
    eye = MotionDetector()
    still = np.full((180, 320, 3), 90, np.uint8)
    moved = still.copy()
    moved[40:80, 100:140] = 200
    eye.detect(still)
    seen = [eye.detect(moved) for _ in range(60)]
    assert seen[0]
    assert not seen[-1]
    assert eye.detect(still + 60) == NOTHING


def test_a_detector_that_remembers_nothing_serves_every_camera():
    for detector in (load_detector("anybodys_detectors:find"), load_detector("colour")):
        assert for_camera(detector) is detector
