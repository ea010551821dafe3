"""The pages tell of files that exist."""

import re

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
