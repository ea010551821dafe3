"""Names that say nothing are not used."""

import re

from tests.structure.source import classes, functions, modules, name_of

BANNED = {"manager", "handler", "processor", "helper", "util", "impl", "fnc", "fut"}
BANNED_IN_CLASSES = BANNED | {"base", "data", "info"}  # a data folder is a thing; a CameraData says nothing
NAMED_BY_OTHERS = {"get_route_handler", "load_dialect_impl"}  # FastAPI's and SQLAlchemy's, overridden by us
THE_MANAGER = {"Manager", "ManagerSpec", "ManagerParts", "manager", "_manager"}  # a runner's, which is called so
LAYERS = {"services", "utils", "helpers", "common", "misc", "lib"}

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def words(name: str) -> set[str]:
    return {word.lower().removesuffix("s") for word in _WORD.findall(name)}


def test_no_class_or_function_has_a_banned_name():
    every = modules("src", "bench", "scripts", "tests/support")
    banned = [
        *((path, node.name) for path in every for node in classes(path) if words(node.name) & BANNED_IN_CLASSES),
        *((path, node.name) for path in every for node in functions(path) if words(node.name) & BANNED),
    ]
    assert not [f"{name_of(path)}::{name}" for path, name in banned if name not in NAMED_BY_OTHERS | THE_MANAGER]


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
