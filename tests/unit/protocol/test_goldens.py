"""Each message is written and read exactly as in `goldens.txt`, and each has a line there."""

import importlib
import json
import pkgutil
from pathlib import Path

import msgspec
import pytest

import streamward.protocol
from streamward.protocol import codec
from streamward.protocol.fields import Message

GOLDENS = [
    tuple(line.split(" ", 1))
    for line in (Path(__file__).parent / "goldens.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def messages() -> dict[str, type[msgspec.Struct]]:
    """Every struct that a module of the protocol declares."""
    names = [module.name for module in pkgutil.iter_modules(streamward.protocol.__path__, "streamward.protocol.")]
    return {
        name: value
        for module in map(importlib.import_module, names)
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__
    }


MESSAGES = {name: kind for name, kind in messages().items() if kind is not Message}


@pytest.mark.parametrize(("name", "golden"), GOLDENS, ids=[name for name, _ in GOLDENS])
def test_a_message_is_read_from_and_written_as_its_golden_bytes(name, golden):
    message = codec.decode(golden.encode(), MESSAGES[name])
    assert codec.encode(message).decode() == golden


@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_has_a_golden_line_with_all_its_fields(name):
    tag = MESSAGES[name].__struct_config__.tag_field
    fields = {*MESSAGES[name].__struct_encode_fields__, *([tag] if tag else [])}
    assert any(fields == set(json.loads(golden)) for golden_name, golden in GOLDENS if golden_name == name)


@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_is_frozen_and_says_what_it_is(name):
    kind = MESSAGES[name]
    assert kind.__struct_config__.frozen
    assert kind.__doc__
