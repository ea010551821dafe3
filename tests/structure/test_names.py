"""Names that say nothing are not used."""

import re

from tests.structure.source import classes, functions, modules, name_of

LAYERS = {"services", "utils", "helpers", "common", "misc", "lib"}


def test_no_package_is_called_by_a_layer_word():
    assert not [name_of(path) for path in modules("src", "tests") if LAYERS & {*path.parts, path.stem}]


def test_private_has_one_underscore():
    assert not [
        f"{name_of(path)}::{node.name}"
        for path in modules("src")
        for node in (*classes(path), *functions(path))
        if re.match(r"__(?!.*__$)", node.name)
    ]


def test_every_test_is_named_as_a_sentence():
    short = [
        f"{name_of(path)}::{function.name}"
        for path in modules("tests")
        for function in functions(path)
        if function.name.startswith("test_") and function.name.count("_") < 3
    ]
    assert not short
