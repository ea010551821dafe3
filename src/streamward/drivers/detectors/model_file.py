"""Model files: where one lies, whether it may be loaded, and the detector that it makes.

    path ─read→ content ─looked through, tried in a process of its own→ detector ─shown a picture→ used

A file is somebody's: it may be cut, be something else, ask for all memory or bring down the library that reads it. So a
file that is not one of ours (`manifest.py`) is tried once in a process that may die (`trial.py`); that it passed is
written down by its SHA-256 in the folder of models.
"""

import hashlib
from pathlib import Path

import numpy as np

from streamward.drivers.detectors import manifest, trial
from streamward.drivers.detectors.refusal import ModelRefused
from streamward.vision.detector import AnswerUnusable, Detector, Size, shown_size

SUFFIXES = (".onnx", ".tflite")  # that names are looked up with
LARGEST = 512 << 20  # bytes
_CAMERA = Size(1280, 720)  # what cameras mostly send
_PICKLES = (b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05", b"PK\x03\x04")  # and those that PyTorch packs


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


def prove(file: Path, content: bytes, *, proofs: Path) -> None:
    """Raises ModelRefused unless a file is one of ours or has passed its trial, now or before."""
    digest = digest_of(content)
    if digest not in manifest.DIGESTS:
        trial.prove(file, digest, proofs=proofs)


def read(file: Path) -> bytes:
    """Its content; raises ModelRefused."""
    try:
        if (size := file.stat().st_size) > LARGEST:
            raise ModelRefused(f"it has {size >> 20} MiB, and {LARGEST >> 20} are the most")
        content = file.read_bytes()
    except OSError as error:
        raise ModelRefused(f"{file} cannot be read: {(error.strerror or str(error)).lower()}") from error
    if content.startswith(_PICKLES):
        raise ModelRefused(
            "it is a pickle or a PyTorch file, which can run anything when it is loaded: export it as ONNX"
        )
    if not content.strip(b"\0"):
        raise ModelRefused("it is empty")
    return content


def digest_of(content: bytes) -> str:
    """By which a file is known."""
    return hashlib.sha256(content).hexdigest()


def judged(detector: Detector) -> Detector:
    """The same detector, after it was shown a picture; raises ModelRefused if its answer is of no use."""
    size = shown_size(detector, _CAMERA)
    ramp = np.linspace(0, 255, size.width, dtype=np.uint8)
    image = np.repeat(np.tile(ramp, (size.height, 1))[:, :, None], 3, axis=2)
    try:
        detector.detect(image)
    except AnswerUnusable as error:
        raise ModelRefused(f"shown a picture, it gives {error.why}") from error
    return detector


def _only(folder: Path) -> Path:
    files = sorted(each for each in folder.iterdir() if each.suffix in SUFFIXES)
    if len(files) != 1:
        raise ModelRefused(f"the folder {folder} holds {len(files) or 'no'} models, and one is needed")
    return files[0]
