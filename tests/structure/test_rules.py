"""Rules of the house that no linter knows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.structure.source import ROOT, classes, dotted, functions, is_port, modules, name_of, tracked, tree

BROAD_CATCHES = {
    "src/streamward/runtime/service.py",  # the service loop
    "src/streamward/control/api/edge.py",  # the same for requests: each is answered, whatever it met
    "src/streamward/runner/pipeline.py",  # the loops of its threads; a detector is anybody's function
    "src/streamward/drivers/detectors/loading.py",  # an import of somebody else's module: it fails as one sentence
    "src/streamward/drivers/analysts/loading.py",  # the same of an analyst, which is anybody's function too
    "src/streamward/batcher/pressure.py",  # a source of pressure is anybody's; a broken one counts as none (S2-35)
    "src/streamward/cli/doctor.py",  # a check that fails in an unforeseen way is a finding too
}
READS_ENVIRONMENT = {"src/streamward/settings/sources.py"}
PURE = ("src/streamward/model", "src/streamward/leases")

_MACHINE_PATH = re.compile(r"(?<![\w.~-])/(?:work|root|home)/[\w.-]+")
_REGISTRY = re.compile(r"\b(pypi\.org|pythonhosted\.org|npmjs\.org|docker\.io|ghcr\.io|quay\.io|golang\.org/proxy)\b")
_TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!.*#\d+)")
_TEXT = {".py", ".toml", ".md", ".txt", ".yml", ".yaml", ".sql", ".sh", ".mako", ".ini", ".json", ".cfg", ""}


def calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, ast.Call))


def places(path: Path, nodes: Iterator[ast.expr] | Iterator[ast.ExceptHandler]) -> list[str]:
    return [f"{name_of(path)}:{node.lineno}" for node in nodes]


def texts(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name_of(path)}:{number}"
        for path in tracked()
        if path.suffix in _TEXT
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if pattern.search(line)
    ]


def is_sleep(call: ast.Call, *, is_virtual: bool) -> bool:
    """Whether real time would pass: on virtual time `asyncio.sleep` takes none, and a sleep of 0 only yields."""
    if dotted(call.func) in {"time.sleep", "sleep"}:
        return True
    yields_only = call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0
    return dotted(call.func) == "asyncio.sleep" and not yields_only and not is_virtual


def swallows_everything(handler: ast.ExceptHandler) -> bool:
    broad = handler.type is None or dotted(handler.type) in {"Exception", "BaseException"}
    return broad and not any(isinstance(node, ast.Raise) and node.exc is None for node in ast.walk(handler))


def test_tests_never_sleep():
    for path in modules("tests"):
        is_virtual = "virtual_time" in path.read_text()
        assert not places(path, (call for call in calls(path) if is_sleep(call, is_virtual=is_virtual)))


def test_tests_never_patch():
    patching = {"monkeypatch.setattr", "monkeypatch.setitem", "mock.patch", "patch", "MagicMock", "AsyncMock", "Mock"}
    assert not [
        place
        for path in modules("tests")
        for place in places(path, (call for call in calls(path) if dotted(call.func) in patching))
    ]


def test_everything_is_caught_in_two_places_only():
    handlers = {
        name_of(path)
        for path in modules("src")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and swallows_everything(node)
    }
    assert handlers <= BROAD_CATCHES


def test_only_settings_read_the_environment():
    readers = {
        name_of(path)
        for path in modules("src")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.expr) and dotted(node) in {"os.environ", "os.getenv"}
    }
    assert readers <= READS_ENVIRONMENT


def test_the_core_awaits_nothing():
    for path in modules(*PURE):
        in_ports = {member for port in classes(path) if is_port(port) for member in port.body}
        waiting = {node for node in functions(path) if isinstance(node, ast.AsyncFunctionDef)}
        assert waiting <= in_ports, name_of(path)


def test_the_core_reads_no_clock():
    clocks = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today"}
    assert not [
        place
        for path in modules(*PURE)
        for place in places(path, (call for call in calls(path) if dotted(call.func) in clocks))
    ]


def test_imports_are_the_same_for_programs_and_type_checkers():
    for path in modules("src", "tests", "bench", "scripts"):
        names = (node for node in ast.walk(tree(path)) if isinstance(node, ast.Name | ast.Attribute))
        assert not places(path, (node for node in names if dotted(node).endswith("TYPE_CHECKING")))


def test_no_file_knows_the_machine_it_was_written_on():
    assert not texts(_MACHINE_PATH)


def test_no_file_names_a_registry():
    assert not texts(_REGISTRY)


def test_nothing_is_put_off_without_an_issue():
    assert not [place for place in texts(_TODO) if not place.startswith(name_of(Path(__file__)))]


def test_every_module_says_what_it_is():
    every = modules("src", "tests", "bench", "scripts")
    assert not [name_of(path) for path in every if not ast.get_docstring(tree(path))]


def test_every_unit_test_stands_where_its_module_stands():
    unit, source = ROOT / "tests/unit", ROOT / "src/streamward"
    for path in unit.rglob("test_*.py"):
        beside = {module.stem for module in (source / path.parent.relative_to(unit)).glob("*.py")}
        words = path.stem.split("_")[1:]
        modules_it_may_mean = {"_".join(words[:count]) for count in range(1, len(words) + 1)}
        assert path.name == "test_goldens.py" or beside & modules_it_may_mean, name_of(path)
