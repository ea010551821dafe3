"""The command lines in README and docs, as the program's parser gets them."""

import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import typer

from streamward.cli import app
from tests.structure.source import ROOT

_PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_LINE = re.compile(r"^(?:    |\$ |)((?:[A-Z_]+=\S+ )*\S*\bstreamward (?!version).*)$")
_SPAN = re.compile(r"`((?:[A-Z_]+=\S+ )*streamward [a-z][^`]*)`")
_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_VALUES = {"N": "1", "PROGRAM": sys.executable}  # for what stands for a number or a file that must be there
_ENDS = re.compile(r"\s#.*$|\s+[|&;].*$|\s+\d?[<>].*$|\s*…$")  # a comment, and what the shell does with the command


def commands() -> Iterator[tuple[str, str]]:
    """Each command line of each page: lines of code blocks but for diagrams, and code within a sentence."""
    for page in _PAGES:
        text = page.read_text()
        blocks = "\n".join([*_FENCED.findall(text), *re.findall("^    .*$", text, re.MULTILINE)])
        lines = [found[1] for line in blocks.splitlines() if "─" not in line and (found := _LINE.match(line))]
        for command in lines + _SPAN.findall(_FENCED.sub("", text)):
            yield page.name, command


def words(line: str) -> list[str]:
    """The arguments after `streamward`."""
    typed = _ENDS.sub("", line)
    said = shlex.split(typed)
    start = next(place for place, word in enumerate(said) if word.rpartition("/")[2] == "streamward")
    return [_VALUES.get(word, word) for word in said[start + 1 :] if word != "…"]


def resolve(arguments: list[str]) -> bool:
    """Whether it is a whole command, and not only the name of one.

    Raises the parser's error if the program would refuse it before it does anything.
    """
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="streamward")
    while hasattr(command, "resolve_command") and arguments:
        name, command, arguments = command.resolve_command(context, arguments)
        context = command.context_class(command, info_name=name, parent=context)
    is_named = not arguments and any(each.required for each in command.params)  # a sentence that only names it
    if hasattr(command, "resolve_command") or is_named:
        return False
    command.make_context(command.name, arguments, parent=context.parent)
    return True
