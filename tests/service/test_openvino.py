"""ONNX files run by OpenVINO: the same files, refusals and boxes as with onnxruntime."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from streamward.drivers.detectors import model_file
from streamward.drivers.detectors.loading import load_detector
from streamward.model.detection import Box, Detection
from streamward.model.runtime import ModelRuntime
from streamward.protocol.shards import ModelsAt
from streamward.vision.detector import Size, shown_size
from streamward.vision.unusable import DetectorUnusable
from tests.support.material import the_clip, the_model
from tests.support.onnx_files import a_model, weights_elsewhere

YOLO = np.array([[[10.0], [6.0], [8.0], [4.0], [0.1], [0.75]]], np.float32).repeat(9, axis=2)
SEEING: dict[str, Any] = {"operator": "Add", "looks": True}  # what is not used, this library leaves out
GOOD = a_model({"output0": YOLO}, **SEEING, names="{0: 'person', 1: 'car'}")
PICTURE = np.zeros((18, 32, 3), np.uint8)


@pytest.fixture
def models(tmp_path: Path) -> ModelsAt:
    if find_spec("openvino") is None:
        pytest.skip("openvino is not installed")
    load_detector.cache_clear()
    return ModelsAt(folder=str(tmp_path), runtime=ModelRuntime.OPENVINO)


def put(models: ModelsAt, name: str, content: bytes) -> None:
    (Path(models.folder) / name).write_bytes(content)


def test_a_file_is_tried_and_read_as_by_the_other_library(models: ModelsAt):
    put(models, "yard.onnx", GOOD)
    detector = load_detector("yard", models)
    assert (detector.size, detector.keeps_shape) == (Size(32, 32), True)
    (seen,) = detector.detect(PICTURE)
    assert seen == Detection("car", 0.75, Box(6, 4, 14, 8))
    proofs = [each.name for each in (Path(models.folder) / ".tried").iterdir()]
    assert proofs == [f"{model_file.digest_of(GOOD)}.openvino"]  # that the other passes it, says nothing


def test_a_model_that_takes_any_size_is_shown_640_across(models: ModelsAt):
    put(models, "any.onnx", a_model({"output0": YOLO}, **SEEING, picture=("n", 3, "h", "w"), names="['person', 'car']"))
    detector = load_detector("any", models)
    assert detector.size == Size(640, 640)
    assert [each.label for each in detector.detect(np.zeros((360, 640, 3), np.uint8))] == ["car"]


REFUSED = {
    "cut": (GOOD[: len(GOOD) // 2], "it is no ONNX file"),
    "elsewhere": (a_model({"output0": YOLO}, extra=weights_elsewhere("/etc/passwd")), "other files"),
    "operator": (a_model({"output0": YOLO}, operator="Nonsense"), "OpenVINO cannot load it"),
    "picture": (a_model({"output0": YOLO}, **SEEING, picture=(1, 4, 32, 32)), "not a picture of three colours"),
    "endless": (a_model({"output0": YOLO * np.float32("nan")}, **SEEING), "not finite"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_is_no_detector_is_refused_in_one_sentence(models: ModelsAt, name: str):
    content, why = REFUSED[name]
    put(models, f"{name}.onnx", content)
    with pytest.raises(DetectorUnusable) as refused:
        load_detector(name, models)
    assert why in refused.value.why
    assert "\n" not in refused.value.why


def test_a_real_model_puts_out_the_same_with_either(models: ModelsAt):
    from streamward.drivers.detectors.onnx_session import OnnxRuntimeSession  # noqa: PLC0415 - they are extras
    from streamward.drivers.detectors.openvino_session import OpenVinoSession  # noqa: PLC0415

    content = (the_model("yunet") / "yunet.onnx").read_bytes()
    sessions = OnnxRuntimeSession(content), OpenVinoSession(content)
    with av.open(str(the_clip())) as clip:
        shown = next(clip.decode(video=0)).reformat(width=640, height=640, format="bgr24").to_ndarray()
    given = np.ascontiguousarray(shown.transpose(2, 0, 1)[None], np.float32)
    places = [{each.name: number for number, each in enumerate(session.outputs)} for session in sessions]
    outputs = [session.run(given) for session in sessions]
    assert places[0].keys() == places[1].keys()
    for name in places[0]:
        one, other = (put_out[place[name]] for put_out, place in zip(outputs, places, strict=True))
        assert np.abs(one - other).max() < 0.01, name  # strides are 8 pixels and more: a tenth of a pixel


def test_a_camera_finds_what_the_other_library_finds(models: ModelsAt):
    at = ModelsAt(folder=str(the_model("yunet")))
    given = ModelsAt(folder=at.folder, runtime=models.runtime)
    one, other = load_detector("yunet", at), load_detector("yunet", given)
    assert one.size == other.size
    size = shown_size(one, Size(768, 576))
    blank = np.full((size.height, size.width, 3), 127, np.uint8)
    assert len(one.detect(blank)) == len(other.detect(blank)) == 0


@pytest.mark.usefixtures("models")
def test_the_librarys_maker_is_not_told_of_it(tmp_path: Path):
    code = "import streamward.drivers.detectors.openvino_session, sys; print(sys.modules['openvino_telemetry'])"
    environment = {"HOME": str(tmp_path), "PYTHONPATH": ":".join(filter(None, sys.path))}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert told.stdout.strip() == b"None"
    assert not list(tmp_path.iterdir())  # it would note there who it takes us for
