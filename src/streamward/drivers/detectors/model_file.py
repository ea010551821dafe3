"""Model files: where one lies, whether it may be loaded, and the detector that it makes.

    path ─read→ content ─looked through, tried in a process of its own→ detector ─shown a picture→ used

A file is somebody's: it may be cut, be something else, ask for all memory or bring down the library that reads it. So a
file that is not one of ours (`manifest.py`) is tried once in a process that may die (`trial.py`); that it passed is
written down by its SHA-256 in the folder of models.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamward.drivers.detectors import bundle, manifest, trial
from streamward.drivers.detectors.refusal import ModelRefused
from streamward.drivers.pictures import PictureUnusable, picture_in
from streamward.model.runtime import ModelRuntime
from streamward.protocol.shards import ModelsAt
from streamward.vision.detector import Detector, Size, least_sure, shown_size
from streamward.vision.sight import believed
from streamward.vision.unusable import AnswerUnusable

SUFFIXES = (bundle.SUFFIX, ".onnx", ".tflite")  # that names are looked up with, in this order
LARGEST = 576 << 20  # bytes; a bundle holds more than its model
_CAMERA = Size(1280, 720)  # what cameras mostly send
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")  # and those that PyTorch packs

Stamp = tuple[int, int, int]  # how a file stands: another content has another one


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model's content, and what is known of it."""

    name: str
    suffix: str  # what files of its kind end in
    content: bytes
    version: int | None = None  # None: nobody signed it
    picture: bytes | None = None  # to try it on
    labels: tuple[str, ...] = ()  # that it has to find there


def find(name: str, models: Path) -> Path | None:
    """The file of a model by its path, or by its name in the folder of models; None: it is no model's name."""
    is_path = "/" in name or name.endswith(SUFFIXES)
    place = Path(name) if is_path else models / name
    if place.is_dir():
        return _only(place)
    if is_path:
        return place
    files = (models / f"{name}{suffix}" for suffix in SUFFIXES)
    return next((file for file in files if file.is_file()), None)


def trusted(file: Path, content: bytes, models: ModelsAt) -> Model:
    """The model in a file, if it is signed by whose key is asked for; raises ModelRefused."""
    if file.suffix == bundle.SUFFIX:
        if models.key is None:
            raise ModelRefused("it is signed, and nobody said by whom: set STREAMWARD_MODELS_KEY")
        model = unpacked(file, content, key=models.key)
        if model.name != file.stem:
            raise ModelRefused(f"it was signed as {model.name}, not as {file.stem}")
        return model
    if models.key is not None and digest_of(content) not in manifest.DIGESTS:
        raise ModelRefused("it is not signed, and STREAMWARD_MODELS_KEY asks for that")
    return unpacked(file, content, key=None)


def unpacked(file: Path, content: bytes, *, key: str | None) -> Model:
    """The model in a file; raises ModelRefused, for a bundle also if that key did not sign it."""
    if file.suffix != bundle.SUFFIX:
        return Model(name=file.stem, suffix=file.suffix[1:], content=content)
    held = bundle.opened(content, key=key)
    refuse_pickles(held.model)
    return Model(
        name=held.about.name,
        suffix=held.about.suffix,
        content=held.model,
        version=held.about.version,
        picture=held.picture,
        labels=tuple(held.about.labels),
    )


def prove(file: Path, content: bytes, *, proofs: Path, runtime: ModelRuntime) -> None:
    """Raises ModelRefused unless a file is one of ours or has passed its trial, now or before."""
    digest = digest_of(content)
    if digest not in manifest.DIGESTS:
        trial.prove(file, digest, proofs=proofs, runtime=runtime)


def stamp_of(file: Path) -> Stamp:
    """How it stands; raises ModelRefused."""
    try:
        status = file.stat()
    except OSError as error:
        raise _unreadable(file, error) from error
    return status.st_ino, status.st_size, status.st_mtime_ns


def read(file: Path) -> bytes:
    """Its content; raises ModelRefused."""
    try:
        if (size := file.stat().st_size) > LARGEST:
            raise ModelRefused(f"it has {size >> 20} MiB, and {LARGEST >> 20} are the most")
        content = file.read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from error
    if file.suffix != bundle.SUFFIX:
        refuse_pickles(content)
    if not content.strip(b"\0"):
        raise ModelRefused("it is empty")
    return content


def digest_of(content: bytes) -> str:
    """By which a file is known."""
    return hashlib.sha256(content).hexdigest()


def refuse_pickles(content: bytes) -> None:
    """Raises ModelRefused."""
    if content.startswith(_PICKLES):
        raise ModelRefused(
            "it is a pickle or a PyTorch file, which can run anything when it is loaded: export it as ONNX"
        )


def judge(detector: Detector, model: Model) -> None:
    """Shows it a picture, its own if it has one; raises ModelRefused if its answer is not what it should be."""
    try:
        frame = _Ramp() if model.picture is None else picture_in(model.picture)
        seen = believed(detector.detect(frame.fitted(shown_size(detector, frame.size))), least_sure(detector))
    except AnswerUnusable as error:
        raise ModelRefused(f"shown a picture, it gives {error.why}") from error
    except PictureUnusable as error:
        raise ModelRefused(f"the picture to try it on: {error.why}") from error
    missing = sorted(set(model.labels) - set(seen.labels))
    if missing:
        raise ModelRefused(f"in its own picture it finds no {' and no '.join(missing)}")


class _Ramp:
    """A picture from black to white, of the size that cameras mostly send."""

    size = _CAMERA

    def fitted(self, size: Size) -> NDArray[np.uint8]:
        ramp = np.linspace(0, 255, size.width, dtype=np.uint8)
        return np.repeat(np.tile(ramp, (size.height, 1))[:, :, None], 3, axis=2)


def _unreadable(file: Path, error: OSError) -> ModelRefused:
    return ModelRefused(f"{file} cannot be read: {(error.strerror or str(error)).lower()}")


def _only(folder: Path) -> Path:
    files = sorted(each for each in folder.iterdir() if each.suffix in SUFFIXES)
    if len(files) != 1:
        raise ModelRefused(f"the folder {folder} holds {len(files) or 'no'} models, and one is needed")
    return files[0]
