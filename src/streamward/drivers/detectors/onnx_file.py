"""Looks through an ONNX file before anybody loads it: whether it is one, whole, and keeps to itself.

An ONNX file may keep its weights in other files, and says where: a path that a stranger chose would be read. It may
also be cut, be something else under that name, or ask for a million outputs. None of that is left to the library.
"""

from collections.abc import Iterator
from typing import NamedTuple

from streamward.drivers.detectors.refusal import ModelRefused

MOST_OUTPUTS = 64
_DEEPEST = 16  # graphs within graphs
_VARINT, _EIGHT, _LENGTH, _FOUR = 0, 1, 2, 5  # how a field is written
_TENSORS = "tensor"
# Which fields of a message hold which messages that may lead to a tensor.
_MESSAGES = {
    "model": {7: "graph", 25: "function"},
    "graph": {1: "node", 5: _TENSORS, 15: "sparse"},
    "function": {7: "node"},
    "node": {5: "attribute"},
    "attribute": {5: _TENSORS, 6: "graph", 10: _TENSORS, 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: _TENSORS, 2: _TENSORS},
    _TENSORS: {},
}
_OUTPUT = 12  # of a graph
_EXTERNAL = (13, 14)  # of a tensor: where else it is, and that it is elsewhere
_IR_VERSION, _GRAPH, _METADATA = 1, 7, 14  # of a model
_MOST_METADATA = 1000  # things that it says of itself
_CUT = ModelRefused("it is no ONNX file, or only a part of one")


class _Field(NamedTuple):
    number: int
    value: int  # of what is not a message
    content: memoryview | None  # of what may be one


def looked_through(content: bytes) -> dict[str, str]:
    """What else the file says of itself; raises ModelRefused if it is not one that may be loaded."""
    model = list(_fields(memoryview(content)))
    if {_IR_VERSION, _GRAPH} - {field.number for field in model}:
        raise _CUT
    _walk("model", memoryview(content), 0)
    pairs = [field.content for field in model if field.number == _METADATA and field.content is not None]
    return dict(_pair(each) for each in pairs[:_MOST_METADATA])


def _walk(kind: str, content: memoryview, depth: int) -> None:
    if depth > _DEEPEST:
        raise ModelRefused("its graphs are within graphs within graphs")
    outputs = 0
    for field in _fields(content):
        outputs += kind == "graph" and field.number == _OUTPUT
        if outputs > MOST_OUTPUTS:
            raise ModelRefused(f"it has more than {MOST_OUTPUTS} outputs, and no detector has")
        if kind == _TENSORS and field.number in _EXTERNAL and (field.content is not None or field.value):
            raise ModelRefused("it keeps weights in other files; save it as one file")
        inner = _MESSAGES[kind].get(field.number)
        if inner is not None and field.content is not None:
            _walk(inner, field.content, depth + (inner == "graph"))


def _pair(content: memoryview) -> tuple[str, str]:
    """A name and what it stands for."""
    texts = {field.number: field.content for field in _fields(content) if field.content is not None}
    name, value = (bytes(texts.get(number, b"")).decode(errors="replace") for number in (1, 2))
    return name, value


def _fields(content: memoryview) -> Iterator[_Field]:
    place = 0
    while place < len(content):
        key, place = _number(content, place)
        number, form = key >> 3, key & 7
        value, inner = 0, None
        if form == _VARINT:
            value, place = _number(content, place)
        elif form == _LENGTH:
            size, place = _number(content, place)
            inner, place = content[place : place + size], place + size
        elif form in {_EIGHT, _FOUR}:
            place += 8 if form == _EIGHT else 4
        else:
            raise _CUT
        if number == 0 or place > len(content):
            raise _CUT
        yield _Field(number, value, inner)


def _number(content: memoryview, place: int) -> tuple[int, int]:
    """A number of seven bits to a byte, and where the next begins."""
    value = 0
    for step in range(10):
        if place >= len(content):
            raise _CUT
        byte = content[place]
        place += 1
        value |= (byte & 0x7F) << (7 * step)
        if byte < 0x80:
            return value, place
    raise _CUT
