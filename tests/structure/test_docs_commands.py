"""Every command line in README and docs is one that the program takes: its command, its options, their values."""

import pytest
import typer

from tests.support.docs_commands import commands, resolve, words

_REFUSED: type[Exception] = typer.BadParameter.__mro__[1]  # the parser's error of usage, of which this is one kind


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
