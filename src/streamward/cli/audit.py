"""`streamward audit`: who changed what, and from where."""

import itertools
from typing import Annotated

import typer

from streamward.cli.options import AsJson, group

app = group("Lists changes that people made.")


@app.command("list")
def list_changes(
    *,
    object_id: Annotated[str | None, typer.Option("--object", help="Changes of this thing only.")] = None,
    subject: Annotated[str | None, typer.Option("--by", help="Changes by this person only.")] = None,
    action: Annotated[str | None, typer.Option(help="Changes of this kind only, like camera.updated.")] = None,
    tenant: Annotated[str | None, typer.Option(help="Of this tenant only.")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this instant on, like 2026-11-16T08:00:00Z.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List changes that people made, the newest first; --json has each thing before and after."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.audit import AuditPage
    from streamward.protocol.fields import LARGEST_PAGE

    asked = {"object_id": object_id, "subject": subject, "action": action, "tenant_id": tenant, "since": since}
    pages = connect().pages(place("v1", "audit"), AuditPage, {**asked, "limit": min(limit, LARGEST_PAGE)})
    found = itertools.islice((entry for page in pages for entry in page.items), limit)
    if as_json:
        output.print_lines(found)
        return
    rows = [(each.at, each.subject, each.action, each.object_id, each.tenant_id, each.address) for each in found]
    if rows:
        output.print_table(("AT", "WHO", "ACTION", "OBJECT", "TENANT", "FROM"), rows)
    else:
        output.say("no change matches: leave an option out to see more" if any(asked.values()) else "no changes yet")
