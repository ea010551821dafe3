"""Settings as people set them: by variable, or by key in a file."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import EnumType
from typing import Any

from pydantic import SecretStr

from streamward.settings.part import PREFIX, Part
from streamward.settings.parts import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One setting as people set it."""

    path: tuple[str, ...]  # its place in `Settings`
    name: str
    kind: str
    default: str
    meaning: str

    @property
    def key(self) -> str:
        """Its place in a file: `lease.ttl_s`."""
        return ".".join(self.path)


def variables() -> list[Variable]:
    """Every setting there is."""
    return [variable for name, field in Settings.model_fields.items() for variable in _variables((name,), field)]


def _variables(path: tuple[str, ...], field: Any) -> Iterator[Variable]:
    kind = field.annotation
    if isinstance(kind, type) and issubclass(kind, Part):
        for inner, inner_field in kind.model_fields.items():
            yield from _variables((*path, inner), inner_field)
        return
    yield Variable(
        path=path,
        name=f"{PREFIX}{'_'.join(path).upper()}",
        kind=_kind(path[-1], kind),
        default=f"`{field.default:g}`" if isinstance(field.default, float) else _shown(field.default),
        meaning=field.description,
    )


def _kind(name: str, annotation: Any) -> str:
    choices = tuple(annotation) if isinstance(annotation, EnumType) else getattr(annotation, "__args__", ())
    if choices and all(isinstance(choice, str) for choice in choices):
        return ", ".join(f"`{choice}`" for choice in choices)
    if SecretStr in choices:
        return "URL" if name == "url" else "secret"
    plain = next(iter(choices), annotation)
    return {"str": "text", "int": "whole number", "bool": "`true`, `false`", "float": "seconds", "Path": "path"}[
        plain.__name__
    ]


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return "–" if default in (None, "") else f"`{default}`"
