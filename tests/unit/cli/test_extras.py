"""Which extra brings what."""

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from streamward.cli.extras import MODULES, remedy

PROJECT = Path(__file__).resolve().parents[3] / "pyproject.toml"


def modules_of(requirements: list[str]) -> set[str]:
    """What programs import of these packages, as far as they are installed."""
    wanted = {re.split(r"[^\w.-]", each)[0].lower() for each in requirements}
    return {
        module
        for module, packages in packages_distributions().items()
        if wanted & {package.lower() for package in packages} and not module.startswith("_")
    }


@pytest.mark.parametrize("extra", MODULES)
def test_the_table_has_what_the_project_asks_for(extra: str) -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert set(MODULES[extra]) >= modules_of(extras[extra])
    assert len(MODULES[extra]) == len(extras[extra])


@pytest.mark.parametrize(
    ("module", "extras"),
    [
        ("av", "vision"),
        ("numpy.linalg", "vision"),
        ("fastapi", "control"),
        ("starlette", "control,vision"),
        ("onnxruntime", "onnx"),
    ],
)
def test_the_remedy_names_the_extra(module: str, extras: str) -> None:
    assert remedy(module) == f"install streamward[{extras}]"
