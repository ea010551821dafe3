"""What runs models that are in ONNX files."""

from enum import StrEnum


class ModelRuntime(StrEnum):
    """A library that reads such files; each is an extra."""

    ONNXRUNTIME = "onnxruntime"
    OPENVINO = "openvino"
