"""Proves that every branch of each core module is run by that module's own unit tests.

    src/streamward/leases/holder.py  ←  tests/unit/leases/test_holder.py, test_holder_<aspect>.py, and nothing else

One run of the unit tests, with coverage kept apart for each test file. What runs at import counts for every module, so
modules that only declare things need no tests.
"""

import importlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src/streamward"
PACKAGES = ("model", "insight", "leases", "vision", "protocol/rtsp", "protocol/rtp")


class KeepApart:
    """A pytest plugin that files what a test covers under its test file."""

    def __init__(self, measured: coverage.Coverage) -> None:
        self._measured = measured

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._measured.switch_context(nodeid.split("::", maxsplit=1)[0])


def main() -> int:
    os.chdir(ROOT)
    sources = [str(SOURCE / package) for package in PACKAGES]
    measured = coverage.Coverage(data_file=None, source=sources)
    measured.start()
    for module in _modules():
        importlib.import_module(".".join(module.relative_to(ROOT / "src").with_suffix("").parts))
    tests = [f"tests/unit/{package}" for package in PACKAGES]
    outcome = pytest.main([*tests, "-qq", "-p", "no:randomly", "--no-header"], plugins=[KeepApart(measured)])
    measured.stop()
    gaps = list(_gaps(measured))
    print(*gaps or ["every core module is fully covered by its own tests"], sep="\n")
    return int(outcome) or bool(gaps)


def _modules() -> list[Path]:
    return [module for package in PACKAGES for module in sorted((SOURCE / package).glob("*.py"))]


def _gaps(measured: coverage.Coverage) -> Iterator[str]:
    for module in _modules():
        own = f"tests/unit/{module.parent.relative_to(SOURCE).as_posix()}/test_{module.stem}"
        if missing := _missing(measured, module, own):
            yield f"{module.relative_to(ROOT)} is not covered by {own}.py: lines {', '.join(missing[:20])}"


def _missing(measured: coverage.Coverage, module: Path, own: str) -> list[str]:
    """Lines and branches of a module that neither importing it nor its own tests run."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        measured.json_report(
            morfs=[str(module)], contexts=["^$", rf"^{re.escape(own)}(_\w+)?\.py$"], outfile=str(report)
        )
        (found,) = json.loads(report.read_text())["files"].values()
    lines = [str(line) for line in found["missing_lines"]]
    return lines + [f"{start}->{end if end > 0 else 'exit'}" for start, end in found["missing_branches"]]


if __name__ == "__main__":
    sys.exit(main())
