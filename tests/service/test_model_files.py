"""Model files by path and by name: those that are loaded, and those that never are."""

from math import isfinite
from pathlib import Path

import av
import numpy as np
import pytest
from av.video.reformatter import VideoReformatter

from streamward.drivers.decoder import DecodedFrame
from streamward.drivers.detectors import loading, model_file
from streamward.drivers.detectors.loading import load_detector
from streamward.model.detection import Box, Detection
from streamward.model.runtime import ModelRuntime
from streamward.protocol.shards import ModelsAt
from streamward.vision.detector import Size, shown_size
from streamward.vision.unusable import DetectorUnusable
from tests.support import onnx_files
from tests.support.material import the_model
from tests.support.onnx_files import a_greedy_model, a_model, more_outputs, weights_elsewhere

# One car of 8 × 4 in the middle of (10, 6), of two classes.
YOLO = np.array([[[10.0], [6.0], [8.0], [4.0], [0.1], [0.75]]], np.float32).repeat(9, axis=2)
NAMES = "{0: 'person', 1: 'car'}"
CAR = Detection("car", 0.75, Box(6, 4, 14, 8))
PICTURE = np.zeros((18, 32, 3), np.uint8)
GOOD = a_model({"output0": YOLO}, names=NAMES)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime")
    load_detector.cache_clear()
    return tmp_path


def refusal(name: str, models: Path) -> str:
    with pytest.raises(DetectorUnusable) as refused:
        load_detector(name, ModelsAt(folder=str(models)))
    return refused.value.why


def test_a_model_is_a_detector_by_its_name_its_path_and_its_folder(models: Path):
    (models / "mine").mkdir()
    for place in ("yard.onnx", "mine/anything.onnx"):
        (models / place).write_bytes(GOOD)
    for name in ("yard", "mine", str(models / "yard.onnx"), str(models / "mine")):
        detector = load_detector(name, ModelsAt(folder=str(models)))
        assert (detector.size, detector.keeps_shape) == (Size(32, 32), True)
        assert list(detector.detect(PICTURE)) == [CAR]


def test_a_file_that_passed_its_trial_is_not_tried_again(models: Path):
    (models / "yard.onnx").write_bytes(GOOD)
    load_detector("yard", ModelsAt(folder=str(models)))
    assert [each.name for each in (models / ".tried").iterdir()] == [model_file.digest_of(GOOD)]


def test_a_model_that_takes_any_size_is_shown_640_across(models: Path):
    (models / "any.onnx").write_bytes(a_model({"output0": YOLO}, picture=("n", 3, "h", "w"), names=NAMES))
    detector = load_detector("any", ModelsAt(folder=str(models)))
    assert detector.size == Size(640, 640)
    assert list(detector.detect(np.zeros((360, 640, 3), np.uint8))) == [CAR]


@pytest.mark.parametrize("prefix", ["", "detection_"])
def test_an_ssd_head_is_known_by_the_names_of_its_outputs(models: Path, prefix: str):
    box = [0.125, 0.1875, 0.25, 0.4375] if prefix else [6, 4, 14, 8]
    outputs = {
        f"{prefix}boxes": np.array([[box]], np.float32),
        f"{prefix}scores": np.array([[0.75]], np.float32),
        f"{prefix}classes": np.array([[1]], np.int64),
    }
    (models / "ssd.onnx").write_bytes(a_model(outputs, names=NAMES))
    assert list(load_detector("ssd", ModelsAt(folder=str(models))).detect(PICTURE)) == [CAR]


@pytest.mark.parametrize("names", [None, "__import__('os').abort()", "[" * 5000, "7"])
def test_names_that_are_none_are_not_believed(models: Path, names: str | None):
    (models / "odd.onnx").write_bytes(a_model({"output0": YOLO}, names=names))
    (seen,) = load_detector("odd", ModelsAt(folder=str(models))).detect(PICTURE)
    assert seen.label == "class 1"


HOSTILE = {
    "empty": (b"", "it is empty"),
    "cut": (GOOD[: len(GOOD) // 2], "it is no ONNX file, or only a part of one"),
    "picture": (b"\xff\xd8\xff\xe0" + b"jpeg" * 99, "it is no ONNX file, or only a part of one"),
    "pickle": (b"\x80\x04\x95cos\nsystem\n", "it is a pickle or a PyTorch file"),
    "torch": (b"PK\x03\x04" + GOOD, "it is a pickle or a PyTorch file"),
    "elsewhere": (a_model({"o": YOLO}, extra=weights_elsewhere("../../etc/passwd")), "weights in other files"),
    "old-pickle": (b"cos\nsystem\n(S'true'\ntR.", "it is no ONNX file, or only a part of one"),
    "many": (a_model({"o": YOLO}, extra=more_outputs(1) * 1_000_000), "it has more than 64 outputs"),
    "greedy": (a_greedy_model(), "Failed to allocate memory"),
    "foreign": (a_model({"o": YOLO}, operator="NoSuchOperator"), "onnxruntime cannot load it"),
    "sound": (a_model({"o": YOLO}, picture=(1, 16000)), "not a picture of three colours"),
    "huge": (a_model({"o": YOLO}, picture=(1, 3, 100_000, 8)), "it takes pictures of 8 × 100000"),
    "nan": (a_model({"o": YOLO * np.float32("nan")}, names=NAMES), "it gives numbers that are not finite"),
    "shape": (a_model({"o": np.zeros((3, 3), np.float32)}, names=NAMES), "it gives an array of the shape 3 × 3"),
    "heads": (a_model({"a": YOLO, "b": YOLO}), "nobody knows how to read its 2 outputs"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_that_is_no_detector_is_refused_in_one_sentence(models: Path, name: str):
    content, why = HOSTILE[name]
    (models / f"{name}.onnx").write_bytes(content)
    assert why in refusal(name, models)


def test_graphs_within_graphs_end_somewhere(models: Path):
    graph = onnx_files.text(2, "deep")
    for _ in range(200):
        graph = onnx_files.text(1, onnx_files.text(5, onnx_files.text(6, graph)))
    (models / "deep.onnx").write_bytes(a_model({"o": YOLO}, extra=graph))
    assert refusal("deep", models) == "its graphs are within graphs within graphs"


def test_no_other_file_is_named_by_a_weight_deep_inside(models: Path):
    inner = onnx_files.text(1, onnx_files.text(5, onnx_files.text(6, weights_elsewhere("/etc/passwd"))))
    (models / "deep.onnx").write_bytes(a_model({"o": YOLO}, extra=inner))
    assert "weights in other files" in refusal("deep", models)


def test_what_brings_its_process_down_does_so_in_a_process_of_its_own(models: Path, monkeypatch: pytest.MonkeyPatch):
    (models / "killers.py").write_text("import os\n\ndef load(content):\n    os.abort()\n")
    offer = models / "killing-1.0.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: killing\nVersion: 1.0\n")
    (offer / "entry_points.txt").write_text("[streamward.detectors]\nkiller = killers:load\n")
    (models / "any.killer").write_bytes(b"something")
    monkeypatch.syspath_prepend(str(models))
    assert refusal(str(models / "any.killer"), models) == "whoever loads it is ended by signal 6"


def test_a_file_that_changes_while_it_is_tried_is_refused(models: Path):
    (models / "other.onnx").write_bytes(GOOD)
    assert (
        loading.tried(models / "other.onnx", "the digest before", ModelRuntime.ONNXRUNTIME)
        == "it changed while it was tried"
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("none/such.onnx", "none/such.onnx cannot be read: no such file or directory"),
        ("folder", "holds no models, and one is needed"),
        ("./weights.bin", "no installed package reads files that end in .bin"),
    ],
)
def test_a_path_that_leads_to_no_model_is_refused(models: Path, name: str, why: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(models)
    (models / "folder").mkdir()
    (models / "weights.bin").write_bytes(b"something")
    assert why in refusal(name, models)


def test_a_file_too_large_is_not_even_read(models: Path):
    with (models / "large.onnx").open("wb") as file:
        file.truncate(model_file.LARGEST + 1)
    assert refusal("large", models) == "it has 576 MiB, and 576 are the most"


def test_a_trial_knows_no_secret_of_ours(models: Path, monkeypatch: pytest.MonkeyPatch):
    (models / "spies.py").write_text("import os\n\ndef load(content):\n    raise ValueError(sorted(os.environ))\n")
    offer = models / "spying-1.0.dist-info"
    offer.mkdir()
    (offer / "METADATA").write_text("Metadata-Version: 2.1\nName: spying\nVersion: 1.0\n")
    (offer / "entry_points.txt").write_text("[streamward.detectors]\nspy = spies:load\n")
    (models / "any.spy").write_bytes(b"something")
    monkeypatch.syspath_prepend(str(models))
    monkeypatch.setenv("STREAMWARD_MASTER_KEY", "canary")
    why = refusal(str(models / "any.spy"), models)
    assert "PYTHONPATH" in why
    assert "STREAMWARD" not in why


def hostile_litert() -> dict[str, bytes]:
    """A real model that was cut, or whose bytes were changed, and such as only begin like one."""
    content = (the_model("efficientdet-lite0") / "efficientdet-lite0.tflite").read_bytes()
    changed = bytearray(content)
    changed[:4] = b"\xff\xff\xff\x7f"  # where its first table is
    return {
        "cut": content[: len(content) // 2],
        "begun": content[:64],
        "moved": bytes(changed),
        "hollow": b"\x08\0\0\0TFL3" + bytes(4096),
        "other": b"something else altogether",
        "pickle": b"\x80\x04\x95cos\nsystem\n",
    }


@pytest.mark.parametrize("name", ["cut", "begun", "moved", "hollow", "other", "pickle"])
def test_a_file_that_is_no_litert_model_is_refused(models: Path, name: str):
    pytest.importorskip("ai_edge_litert")
    (models / f"{name}.tflite").write_bytes(hostile_litert()[name])
    why = refusal(name, models)
    known = ("LiteRT cannot load it", "it is no LiteRT file", "it does not take", "whoever loads it", "it is a pickle")
    assert why.startswith(known), why


@pytest.mark.parametrize(("width", "height"), [(1, 1), (7, 3), (7680, 4320)])
def test_a_picture_of_any_size_is_looked_at_by_a_real_model(width: int, height: int):
    frame = DecodedFrame(av.VideoFrame(width, height, "yuv420p"), VideoReformatter())
    for name, package in (("yunet", "onnxruntime"), ("efficientdet-lite0", "ai_edge_litert")):
        pytest.importorskip(package)
        detector = load_detector(name, ModelsAt(folder=str(the_model(name))))
        found = detector.detect(frame.fitted(shown_size(detector, frame.size)))
        assert all(0 < each.confidence <= 1 and isfinite(each.box.area) for each in found)
