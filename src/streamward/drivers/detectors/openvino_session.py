"""ONNX files run by OpenVINO, on one thread.

The library tells its maker of each import, if it can; not ours.
"""

import contextlib
import sys
from typing import Any

import numpy as np

from streamward.drivers.detectors.onnx_model import Given, Place
from streamward.drivers.detectors.refusal import ModelRefused, first_line

sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]  # as if it were not installed

import openvino  # noqa: E402 - not before that

_FORMS: dict[str, type[np.generic]] = {"f32": np.float32, "f16": np.float16, "u8": np.uint8}
_HOW = {
    "NUM_STREAMS": 1,
    "INFERENCE_NUM_THREADS": 1,
    "INFERENCE_PRECISION_HINT": "f32",  # some processors would be given less: the same boxes everywhere
    "ENABLE_CPU_PINNING": False,  # or every Worker's thread would sit on the same core
}


class OpenVinoSession:
    """One model."""

    def __init__(self, content: bytes) -> None:
        try:
            core = openvino.Core()
            model = core.read_model(content)
            self._request = core.compile_model(model, "CPU", _HOW).create_infer_request()
        except (RuntimeError, ValueError) as error:
            raise ModelRefused(f"OpenVINO cannot load it: {first_line(error)}") from error
        self.inputs = [_place(each) for each in model.inputs]
        self.outputs = [_place(each) for each in model.outputs]

    def run(self, given: Given) -> list[Any]:
        found = self._request.infer({0: given}, share_inputs=True)
        return [found[number] for number in range(len(self.outputs))]


def _place(found: Any) -> Place:
    name = ""
    with contextlib.suppress(RuntimeError):  # it has none
        name = found.any_name
    shape = tuple(None if side.is_dynamic else side.get_length() for side in found.partial_shape)
    return Place(name, _FORMS.get(found.element_type.get_type_name()), shape)
