"""Small ONNX files, written by hand: models that put out what a test wants, and such as nobody should load."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

FLOAT, INT64 = 1, 7
_TYPES = {np.dtype(np.float32): FLOAT, np.dtype(np.int64): INT64}
EXTERNAL = 1


def _varint(value: int) -> bytes:
    digits = []
    while value >= 0x80:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*digits, value])


def number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def text(field: int, content: bytes | str) -> bytes:
    raw = content.encode() if isinstance(content, str) else content
    return _varint(field << 3 | 2) + _varint(len(raw)) + raw


_ADDED = text(1, "darkest")
_NO_AXES = text(1, "keepdims") + number(3, 0) + number(20, 2)
_DARKEST = text(1, text(1, "picture") + text(2, "darkest") + text(4, "ReduceMin") + text(5, _NO_AXES))


def a_model(
    outputs: Mapping[str, Any],
    *,
    picture: Sequence[int | str] = (1, 3, 32, 32),
    names: str | None = None,
    extra: bytes = b"",
    operator: str = "Identity",
    looks: bool = False,
) -> bytes:
    """A model that takes a picture and puts out these arrays, whatever it is shown; one that looks adds its darkest."""
    arrays = {name: np.asarray(array) for name, array in outputs.items()}
    graph = b"".join((
        _DARKEST if looks else b"",
        *(
            text(1, text(1, f"{name}_kept") + (_ADDED if looks else b"") + text(2, name) + text(4, operator))
            for name in arrays
        ),
        text(2, "graph"),
        *(text(5, _tensor(f"{name}_kept", array)) for name, array in arrays.items()),
        text(11, _value("picture", FLOAT, picture)),
        *(text(12, _value(name, _TYPES[array.dtype], array.shape)) for name, array in arrays.items()),
        extra,
    ))
    metadata = b"" if names is None else text(14, text(1, "names") + text(2, names))
    return number(1, 8) + text(7, graph) + text(8, number(2, 17)) + metadata


def a_greedy_model() -> bytes:
    """A small file that asks for four terabytes when it is used."""
    shape = np.array([1 << 20, 1 << 20])
    graph = b"".join((
        text(1, text(1, "shape") + text(2, "output0") + text(4, "ConstantOfShape")),
        text(2, "graph"),
        text(5, _tensor("shape", shape)),
        text(11, _value("picture", FLOAT, (1, 3, 32, 32))),
        text(12, _value("output0", FLOAT, shape.tolist())),
    ))
    return number(1, 8) + text(7, graph) + text(8, number(2, 17))


def weights_elsewhere(path: str) -> bytes:
    """A weight that a graph keeps in another file."""
    place = text(13, text(1, "location") + text(2, path))
    return text(5, number(1, 1) + number(2, FLOAT) + text(8, "elsewhere") + place + number(14, EXTERNAL))


def more_outputs(count: int) -> bytes:
    """Outputs of a graph."""
    return b"".join(text(12, _value(f"more_{each}", FLOAT, (1,))) for each in range(count))


def _tensor(name: str, array: Any) -> bytes:
    dims = b"".join(number(1, each) for each in array.shape)
    return dims + number(2, _TYPES[array.dtype]) + text(8, name) + text(9, array.tobytes())


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(text(1, text(2, each) if isinstance(each, str) else number(1, each)) for each in shape)
    return text(1, name) + text(2, text(1, number(1, kind) + text(2, sizes)))
