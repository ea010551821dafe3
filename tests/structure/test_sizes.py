"""How large things may be; an exception is a line here with its reason."""

from tests.structure.source import body_lines, classes, functions, is_port, modules, name_of

FUNCTION_LINES = 40
TEST_LINES = 30
MODULE_LINES = 400
PORT_METHODS = 10

EXCEPTIONS: dict[str, str] = {}  # "path" or "path::function": the reason


def too_long(found: dict[str, int], limit: int) -> dict[str, int]:
    return {place: size for place, size in found.items() if size > limit and place not in EXCEPTIONS}


def test_functions_are_short():
    lines = {
        f"{name_of(path)}::{function.name}": body_lines(function)
        for path in modules("src", "bench", "scripts", "tests/support")
        for function in functions(path)
    }
    assert not too_long(lines, FUNCTION_LINES)


def test_test_functions_are_short():
    lines = {
        f"{name_of(path)}::{function.name}": body_lines(function)
        for path in modules("tests")
        for function in functions(path)
        if function.name.startswith("test_")
    }
    assert not too_long(lines, TEST_LINES)


def test_modules_are_short():
    lines = {name_of(path): len(path.read_text().splitlines()) for path in modules("src", "tests", "bench", "scripts")}
    assert not too_long(lines, MODULE_LINES)


def test_ports_are_small():
    methods = {
        f"{name_of(path)}::{port.name}": sum(hasattr(member, "args") for member in port.body)
        for path in modules("src")
        for port in classes(path)
        if is_port(port)
    }
    assert methods
    assert not too_long(methods, PORT_METHODS)


def test_no_exception_has_become_needless():
    paths = {name_of(path) for path in modules("src", "tests", "bench", "scripts")}
    assert {place.split("::")[0] for place in EXCEPTIONS} <= paths
