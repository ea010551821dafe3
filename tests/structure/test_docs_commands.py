"""Every command line in README and docs is one that the program takes: its command, its options, their values."""

import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from streamward.cli import app
from tests.structure.source import ROOT

_REFUSED: type[Exception] = typer.BadParameter.__mro__[1]  # the parser's error of usage, of which this is one kind
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


def resolve(arguments: list[str]) -> None:
    """Raises the parser's error if the program would refuse them before it does anything."""
    command: Any = typer.main.get_command(app)
    context = command.context_class(command, info_name="streamward")
    while hasattr(command, "resolve_command") and arguments:
        name, command, arguments = command.resolve_command(context, arguments)
        context = command.context_class(command, info_name=name, parent=context)
    is_named = not arguments and any(each.required for each in command.params)  # a sentence that only names it
    if not hasattr(command, "resolve_command") and not is_named:
        command.make_context(command.name, arguments, parent=context.parent)


@pytest.mark.parametrize("line", sorted({line for _, line in commands()}))
def test_a_command_of_a_page_is_one_that_the_program_takes(line: str) -> None:
    try:
        resolve(words(line))
    except _REFUSED as error:
        where = sorted({page for page, each in commands() if each == line})
        pytest.fail(f"{', '.join(where)}: `{line}`: {error}")


def test_there_are_commands_of_every_kind():
    found = [line for _, line in commands()]
    assert len(found) > 100
    assert "streamward leases list --runner host-1" in {line.partition("  ")[0] for line in found}
