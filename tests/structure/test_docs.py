"""The pages tell of files that exist."""

import re

import typer

from streamward.cli import app
from streamward.cli.failure import ExitCode
from tests.structure.source import ROOT

_LINK = re.compile(r"\]\((?!http)([^)#]+)")
_PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_every_link_of_every_page_leads_somewhere():
    missing = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in _PAGES
        for target in _LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_module_and_test_that_meets_a_requirement_exists():
    rows = [row.split("|") for row in (ROOT / "docs" / "requirements.md").read_text().splitlines() if "| S" in row]
    named = [
        (row[1].strip(), folder + path.split(" (")[0].strip())
        for row in rows
        for column, folder in ((3, "src/streamward/"), (4, ""))
        for path in re.sub(r"\([^)]*\)", "", row[column]).split(",")
        if path.strip() not in ("", "not yet")
    ]
    assert len(rows) == 450
    assert [(row, path) for row, path in named if not (ROOT / path.rstrip()).exists()] == []


def commands(group: typer.Typer, *above: str) -> list[str]:
    """Every command that people can call, as they call it."""
    named = [
        str(each.name or getattr(each.callback, "__name__", "")).replace("_", "-") for each in group.registered_commands
    ]
    alone = [" ".join(above)] if group.info.invoke_without_command is True else []
    own = [*alone, *(" ".join([*above, name]) for name in named)]
    below = [
        name
        for inner in group.registered_groups
        if inner.typer_instance is not None
        for name in commands(inner.typer_instance, *above, str(inner.name))
    ]
    return own + below


def test_every_command_is_told_of():
    page = (ROOT / "docs" / "cli.md").read_text()
    every = commands(app, "streamward")
    assert "streamward cameras list" in every
    assert [command for command in every if f"| `{command}` |" not in page] == []
    assert sorted(every) == sorted(re.findall(r"^\| `(streamward [a-z -]+)` \|", page, flags=re.MULTILINE))


def test_every_exit_code_is_told_of():
    page = (ROOT / "docs" / "cli.md").read_text()
    assert [code for code in ExitCode if f"| {code.value} |" not in page] == []
