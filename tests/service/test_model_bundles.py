"""Signed models: whose are taken, and newer versions in the place of older ones, sound ones only."""

import io
import zipfile
from pathlib import Path

import av
import numpy as np
import pytest

from streamward.drivers.detectors import used
from streamward.drivers.detectors.bundle import SigningKeyUnusable, new_key, opened, private_key_in, public_key_in
from streamward.drivers.detectors.loading import Renewals, load_detector
from streamward.drivers.detectors.refusal import ModelRefused
from streamward.protocol.shards import ModelsAt
from streamward.vision.detector import Detector, NewVersion
from streamward.vision.unusable import DetectorUnusable
from tests.support.bundles import KEY, PUBLIC, STRANGER, a_bundle, finds

SHOWN = np.zeros((18, 32, 3), np.uint8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pytest.importorskip("onnxruntime")
    load_detector.cache_clear()
    return tmp_path


def at(folder: Path, key: str | None = PUBLIC) -> ModelsAt:
    return ModelsAt(folder=str(folder), key=key)


def label_of(detector: Detector) -> str:
    return next(iter(detector.detect(SHOWN))).label


def a_picture() -> bytes:
    written = io.BytesIO()
    with av.open(written, "w", format="image2pipe") as container:
        stream = container.add_stream("png", rate=1)
        assert isinstance(stream, av.VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 36, "rgb24"
        frame = av.VideoFrame.from_ndarray(np.zeros((36, 64, 3), np.uint8), format="rgb24")
        container.mux([*stream.encode(frame), *stream.encode(None)])
    return written.getvalue()


def without(bundle: bytes, member: str, instead: bytes | None = None) -> bytes:
    """The bundle with another content of one of its members, or none."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(bundle)) as old, zipfile.ZipFile(written, "w") as new:
        for name in old.namelist():
            if name != member or instead is not None:
                new.writestr(name, old.read(name) if name != member else instead or b"")
    return written.getvalue()


def test_a_model_that_the_right_key_signed_is_a_detector(folder: Path):
    (folder / "yard.bundle").write_bytes(a_bundle(finds("dog"), picture=a_picture(), labels=["dog"]))
    assert label_of(load_detector("yard", at(folder))) == "dog"


BAD = {
    "stranger": (a_bundle(finds("dog"), key=STRANGER), "its signature is not that of the key"),
    "name": (a_bundle(finds("dog"), name="street"), "it was signed as street, not as yard"),
    "other model": (without(a_bundle(finds("dog")), "model", finds("cat")), "something else than what was signed"),
    "no signature": (without(a_bundle(finds("dog")), "signature"), "it is no bundle, or only a part of one"),
    "long signature": (without(a_bundle(finds("dog")), "signature", bytes(65)), "it is no bundle"),
    "version": (without(a_bundle(finds("dog")), "bundle.json", b'{"name":"yard"}'), "its signature is not"),
    "cut": (a_bundle(finds("dog"))[:-30], "it is no bundle, or only a part of one"),
    "labels": (
        a_bundle(finds("dog"), picture=a_picture(), labels=["cat", "dog"]),
        "in its own picture it finds no cat",
    ),
    "picture": (a_bundle(finds("dog"), picture=b"none"), "the picture to try it on: it is no picture"),
    "pickle": (a_bundle(b"\x80\x04.", suffix="onnx"), "it is a pickle"),
    "operator": (a_bundle(finds("dog", operator="NoSuchOperator")), "onnxruntime cannot load it"),
    "kind": (a_bundle(finds("dog"), suffix="pt"), "no installed package reads files that end in .pt"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_was_not_signed_so_or_is_of_no_use_is_refused(folder: Path, case: str):
    content, why = BAD[case]
    (folder / "yard.bundle").write_bytes(content)
    with pytest.raises(DetectorUnusable) as refused:
        load_detector("yard", at(folder))
    assert why in refused.value.why


def test_where_a_key_is_set_unsigned_files_are_refused_and_where_none_is_signed_ones(folder: Path):
    (folder / "yard.bundle").write_bytes(a_bundle(finds("dog")))
    (folder / "street.onnx").write_bytes(finds("cat"))
    for name, key in (("yard", None), ("street", PUBLIC)):
        with pytest.raises(DetectorUnusable, match="STREAMWARD_MODELS_KEY"):
            load_detector(name, at(folder, key))
    assert label_of(load_detector("street", at(folder, None))) == "cat"


class Swapping:
    """A model in use, and what is put in its place."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "yard.bundle"
        self.put(a_bundle(finds("dog"), version=3))
        self.current = load_detector("yard", at(folder))
        self.renewals = Renewals(at(folder))

    def put(self, content: bytes) -> None:
        fresh = self._file.with_suffix(".new")
        fresh.write_bytes(content)
        fresh.replace(self._file)

    def newer(self) -> NewVersion | None:
        return self.renewals.newer("yard", self.current)


def test_a_newer_version_is_made_ready_beside_the_old_one(folder: Path):
    swapping = Swapping(folder)
    assert swapping.newer() is None
    swapping.put(a_bundle(finds("cat"), version=4))
    newer = swapping.newer()
    assert newer is not None
    assert (newer.version, label_of(newer.detector), label_of(swapping.current)) == (4, "cat", "dog")
    assert swapping.renewals.newer("yard", newer.detector) is None


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (a_bundle(finds("cat"), version=3), "version 3 was put in its place, and 3 is running"),
        (a_bundle(finds("cat"), version=4, key=STRANGER), "its signature is not that of the key"),
        (a_bundle(finds("cat", operator="NoSuchOperator"), version=4), "onnxruntime cannot load it"),
        (a_bundle(finds("cat"), version=4)[:-9], "it is no bundle"),
    ],
)
def test_a_version_of_no_use_is_refused_once_and_the_old_one_goes_on(folder: Path, content: bytes, why: str):
    swapping = Swapping(folder)
    swapping.put(content)
    with pytest.raises(DetectorUnusable) as refused:
        swapping.newer()
    assert why in refused.value.why
    assert swapping.newer() is None  # it was told
    assert label_of(swapping.current) == "dog"
    swapping.put(a_bundle(finds("cat"), version=5))
    assert swapping.newer() is not None


def test_a_detector_without_a_version_has_no_newer_one(folder: Path):
    assert Renewals(at(folder)).newer("colour", load_detector("colour", at(folder))) is None


def test_a_file_that_is_gone_takes_no_detector_away(folder: Path):
    swapping = Swapping(folder)
    (folder / "yard.bundle").unlink()
    assert swapping.newer() is None


def test_keys_are_made_kept_and_read(tmp_path: Path):
    private = tmp_path / "models.pem"
    public = new_key(private)
    bundle = a_bundle(finds("dog"), key=private_key_in(private))
    assert opened(bundle, key=public_key_in(public)).about.name == "yard"
    with pytest.raises(ModelRefused):
        opened(a_bundle(finds("dog"), key=KEY), key=public_key_in(public))
    assert private.stat().st_mode & 0o777 == 0o600
    with pytest.raises(SigningKeyUnusable, match="is there already"):
        new_key(private)


def test_what_is_no_key_is_told(tmp_path: Path):
    file = tmp_path / "key"
    with pytest.raises(SigningKeyUnusable, match="cannot be read: no such file"):
        public_key_in(file)
    file.touch(mode=0o600)
    for read in (public_key_in, private_key_in):
        with pytest.raises(SigningKeyUnusable, match="in PEM form"):
            read(file)


def test_a_version_that_is_older_than_one_that_was_used_here_is_not_taken(folder: Path):
    models = ModelsAt(folder=str(folder / "models"), key=PUBLIC, used=str(folder / "used"))
    (folder / "models").mkdir()
    for version in (9, 10):
        (folder / "models" / "yard.bundle").write_bytes(a_bundle(finds("dog"), version=version))
        load_detector.cache_clear()
        load_detector("yard", models)
    assert [path.name for path in (folder / "used").iterdir()] == ["yard.10"]
    (folder / "models" / "yard.bundle").write_bytes(a_bundle(finds("dog"), version=9))
    load_detector.cache_clear()
    with pytest.raises(DetectorUnusable, match="it is version 9, and 10 was used on this host before"):
        load_detector("yard", models)
    used.forget(folder / "used", "yard", above=9)
    assert label_of(load_detector("yard", models)) == "dog"


def test_what_is_of_no_use_keeps_nobody_from_the_version_before(folder: Path):
    models = ModelsAt(folder=str(folder / "models"), key=PUBLIC, used=str(folder / "used"))
    (folder / "models").mkdir()
    (folder / "models" / "yard.bundle").write_bytes(a_bundle(b"no model", version=3))
    with pytest.raises(DetectorUnusable):
        load_detector("yard", models)
    (folder / "models" / "yard.bundle").write_bytes(a_bundle(finds("dog"), version=2))
    assert label_of(load_detector("yard", models)) == "dog"


def test_a_newer_version_that_is_taken_up_is_noted_and_where_nothing_can_be_noted_all_goes_on(folder: Path):
    (folder / "used").touch()  # no folder
    for place in ("noted", "used"):
        models = ModelsAt(folder=str(folder), key=PUBLIC, used=str(folder / place))
        (folder / "yard.bundle").write_bytes(a_bundle(finds("dog"), version=1))
        load_detector.cache_clear()
        first = load_detector("yard", models)
        (folder / "yard.bundle").write_bytes(a_bundle(finds("cat"), version=2))
        newer = Renewals(models).newer("yard", first)
        assert newer is not None
        assert newer.version == 2
    assert [path.name for path in (folder / "noted").iterdir()] == ["yard.2"]
