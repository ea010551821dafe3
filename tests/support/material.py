"""What tests of real models look with and at, as `scripts/material` fetched it; tests are skipped where it is not."""

import sys
from pathlib import Path

import pytest

FOLDER = Path(sys.prefix) / "material"
MODELS = FOLDER / "models"


def the_clip() -> Path:
    """A fixed camera, pedestrians and a parked van: 768 × 576, ten pictures a second, 79 s."""
    return _there(FOLDER / "vtest.avi")


def the_model(name: str) -> Path:
    """The folder of models, which holds that one."""
    _there(next(MODELS.glob(f"{name}.*"), MODELS / name))
    return MODELS


def _there(path: Path) -> Path:
    if not path.exists():
        pytest.skip(f"{path.name} is missing: scripts/material fetches it")
    return path
