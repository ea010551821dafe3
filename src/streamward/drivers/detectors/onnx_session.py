"""ONNX files run by onnxruntime, on one thread."""

from typing import Any

import numpy as np
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as ort

from streamward.drivers.detectors.onnx_model import Given, Place
from streamward.drivers.detectors.refusal import ModelRefused, first_line

_FORMS: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}
_TROUBLES = (ort.Fail, ort.InvalidArgument, ort.InvalidGraph, ort.InvalidProtobuf, ort.NotImplemented, ort.EPFail)


class OnnxRuntimeSession:
    """One model."""

    def __init__(self, content: bytes) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # what fails is told once, by us
        try:
            self._session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except (*_TROUBLES, RuntimeError, ValueError) as error:
            raise ModelRefused(f"onnxruntime cannot load it: {first_line(error)}") from error
        self.inputs = [_place(each) for each in self._session.get_inputs()]
        self.outputs = [_place(each) for each in self._session.get_outputs()]
        self._names = [each.name for each in self.outputs]

    def run(self, given: Given) -> list[Any]:
        return list(self._session.run(self._names, {self.inputs[0].name: given}))


def _place(found: Any) -> Place:
    return Place(found.name, _FORMS.get(found.type), tuple(found.shape))
