"""Writes the pages that are rendered from the code, or with --check says which are not current.

docs/settings.md and .env.example come from the settings, docs/protocol.md from the message classes.
"""

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_origin

import msgspec

from streamward import protocol, settings
from streamward.protocol.fields import ClearText

ROOT = Path(__file__).resolve().parent.parent

_WORDS = {str: "text", int: "whole number", float: "number", bool: "true/false", datetime: "instant", ClearText: "text"}


def render_protocol() -> str:
    """`docs/protocol.md`."""
    lines = [
        "# Messages",
        "",
        "Rendered from `src/streamward/protocol/`. Everything that crosses a process boundary, in the specification's",
        "spelling: `version` is the generation, `owner_id` the runner. JSON; unknown fields, fields given twice and",
        "numbers in strings are refused; instants are UTC in ISO-8601.",
    ]
    for module in _modules():
        messages = list(_messages(module))
        if messages:
            lines += ["", f"## {_title(module)}", "", inspect.cleandoc(module.__doc__ or "")]
            for message in messages:
                lines += _section(message)
    return "\n".join([*lines, ""])


PAGES: dict[str, Callable[[], str]] = {
    "docs/settings.md": settings.render_page,
    ".env.example": settings.render_example,
    "docs/protocol.md": render_protocol,
}


def main(arguments: list[str]) -> int:
    """Writes every page, or checks each."""
    old = [name for name, render in PAGES.items() if not _is_current(ROOT / name, render())]
    if "--check" in arguments:
        for name in old:
            print(f"{name} is not current: run `make docs`", file=sys.stderr)
        return 1 if old else 0
    for name in old:
        (ROOT / name).write_text(PAGES[name]())
        print(f"wrote {name}")
    return 0


def _is_current(page: Path, text: str) -> bool:
    return page.exists() and page.read_text() == text


def _modules() -> Iterator[ModuleType]:
    for found in sorted(pkgutil.iter_modules(protocol.__path__), key=lambda module: module.name):
        yield importlib.import_module(f"{protocol.__name__}.{found.name}")


def _messages(module: ModuleType) -> Iterator[type[msgspec.Struct]]:
    for value in vars(module).values():
        is_ours = inspect.isclass(value) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__
        if is_ours and msgspec.structs.fields(value):
            yield value


def _section(message: type[msgspec.Struct]) -> list[str]:
    lines = ["", f"### {message.__name__}", "", inspect.cleandoc(message.__doc__ or ""), ""]
    lines += ["| field | type | |", "|---|---|---|"]
    for field in msgspec.structs.fields(message):
        optional = "" if field.required else "optional"
        lines.append(f"| `{field.encode_name}` | {_kind(field.type)} | {optional} |")
    return lines


def _kind(kind: Any) -> str:
    """A type as people read it."""
    if kind is type(None):
        return "null"
    if isinstance(kind, str):
        return f"`{kind}`"  # one value of a Literal
    arguments = get_args(kind)
    if hasattr(kind, "__metadata__"):
        return _kind(arguments[0]) + _limits(kind.__metadata__)
    if get_origin(kind) is list:
        return f"list of {_kind(arguments[0])}"
    if get_origin(kind) is dict:
        return "object"
    if arguments:
        return " or ".join(_kind(argument) for argument in arguments if argument is not msgspec.UnsetType)
    return _WORDS.get(kind, str(getattr(kind, "__name__", kind)))


def _limits(metadata: tuple[Any, ...]) -> str:
    meta = metadata[0]
    signs = (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
    limits = [f"{sign} {getattr(meta, name):,g}" for name, sign in signs if getattr(meta, name) is not None]
    if meta.description:
        limits.append(meta.description)
    return f" ({', '.join(limits)})" if limits else ""


def _title(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2].replace("_", " ").capitalize()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
