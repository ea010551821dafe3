"""The rules of `deploy/prometheus`, read."""

import re
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"
RULES = FOLDER / "rules.yml"
BY_PROMETHEUS_ITSELF = {"up"}

_GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right) *\([^)]*\)")
_LABELS_OR_RANGE = re.compile(r"\{[^}]*\}|\[[^]]*\]|\boffset +\w+")
_NAME = re.compile(r"\b[a-z_][a-z0-9_:]*\b(?! *\()")
_WORDS = {"and", "or", "unless", "bool"}


def rules() -> list[dict[str, Any]]:
    """All of them, in their order."""
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def metrics_in(expression: str) -> set[str]:
    """The metrics that an expression of Prometheus names."""
    bare = _LABELS_OR_RANGE.sub("", _GROUPING.sub("", expression))
    return set(_NAME.findall(bare)) - _WORDS
