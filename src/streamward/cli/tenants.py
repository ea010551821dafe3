"""`streamward tenants`: whose cameras there are."""

import time
from datetime import datetime
from typing import Annotated, Any

import typer

from streamward.cli.batching import change as change_batching
from streamward.cli.options import AsJson, IfMatch, Yes, confirm, group

app = group("Lists, adds, renames and removes tenants, and says when their batches close.")
app.command("batching")(change_batching)

_ASK_EVERY = 0.5  # seconds

TenantName = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id.")]
Title = Annotated[str, typer.Option("--name", help="Its name, as people read it.")]


@app.command("list")
def list_tenants(*, as_json: AsJson = False) -> None:
    """List tenants in the order of their ids."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.tenants import TenantDeletionList, TenantPage

    link = connect()
    pages = link.pages(place("v1", "tenants"), TenantPage, {"limit": LARGEST_PAGE})
    found = output.counted((tenant for page in pages for tenant in page.items), "tenants")
    if as_json:
        output.print_lines(found)
        output.print_lines(link.get(place("v1", "tenant-deletions"), TenantDeletionList).body.items)
        return
    rows: list[tuple[str, str, str, datetime]] = [
        (each.tenant_id, each.name, each.state, each.updated_at) for each in found
    ]
    deletions = link.get(place("v1", "tenant-deletions"), TenantDeletionList).body.items
    rows += [(each.tenant_id, "", f"deleting ({each.waiting_for})", each.requested_at) for each in deletions]
    if rows:
        output.print_table(("TENANT", "NAME", "STATE", "CHANGED"), sorted(rows))
    else:
        output.say("no tenants yet: add one with `streamward tenants add TENANT`")


@app.command()
def show(tenant: TenantName, *, as_json: AsJson = False) -> None:
    """Show a tenant."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.tenants import TenantDetails

    _print(connect().get(place("v1", "tenants", tenant), TenantDetails), as_json=as_json)


@app.command()
def add(tenant: TenantName, *, name: Title = "", as_json: AsJson = False) -> None:
    """Add a tenant."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.tenants import CreateTenant, TenantDetails

    message = CreateTenant(tenant_id=tenant, name=name)
    _print(connect().post(place("v1", "tenants"), message, TenantDetails), as_json=as_json)


@app.command("set")
def change(
    tenant: TenantName,
    *,
    name: Annotated[str, typer.Option("--name", help="Its new name.")],
    if_match: IfMatch = None,
    as_json: AsJson = False,
) -> None:
    """Rename a tenant; its id stays."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.tenants import ChangeTenant, TenantDetails

    link, path = connect(), place("v1", "tenants", tenant)
    etag = if_match or link.get(path, TenantDetails).etag
    _print(link.patch(path, ChangeTenant(name=name), TenantDetails, etag=etag), as_json=as_json)


@app.command()
def remove(
    tenant: TenantName,
    *,
    yes: Yes = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until all of its data is deleted.")] = True,
    as_json: AsJson = False,
) -> None:
    """Delete a tenant that has no sites left, and all of its data."""
    confirm(f"delete tenant {tenant} and all of its data?", is_sure=yes)
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.tenants import TenantDeletionDetails, TenantDetails

    link, path = connect(), place("v1", "tenants", tenant)
    found = link.delete(path, TenantDeletionDetails, etag=link.get(path, TenantDetails).etag).body
    shown = None
    while wait and found.state == "deleting":
        if not as_json and (sentence := _progress(found)) != shown:
            output.say(sentence)
            shown = sentence
        time.sleep(_ASK_EVERY)
        found = link.get(place("v1", "tenants", tenant, "deletion"), TenantDeletionDetails).body
    if as_json:
        output.print_json(found)
    else:
        print(_progress(found))


@app.command()
def deletion(tenant: TenantName, *, as_json: AsJson = False) -> None:
    """Show how far the deletion of a tenant is."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.tenants import TenantDeletionDetails

    found = connect().get(place("v1", "tenants", tenant, "deletion"), TenantDeletionDetails).body
    if as_json:
        output.print_json(found)
        return
    output.print_facts([
        ("tenant", found.tenant_id),
        ("internal id", found.tenant_key),
        ("state", found.state),
        ("waiting for", found.waiting_for),
        ("requested", found.requested_at),
        ("finished", found.finished_at),
        ("rows left", found.rows_left),
        *((f"deleted {kind}", count) for kind, count in found.removed.items()),
    ])


def _progress(deletion: Any) -> str:
    """How far a deletion is, in a sentence."""
    removed = sum(deletion.removed.values())
    begun = f"deleting {deletion.tenant_id}: {removed} rows deleted"
    match deletion.waiting_for:
        case "rows":
            return f"{begun}, {deletion.rows_left} left"
        case "payloads":
            return f"{begun}; waiting for a batcher to delete payloads and open batches"
        case "name":
            return f"{begun}; nothing is left, and its name is held for a few seconds"
        case _:
            return f"deleted {deletion.tenant_id} and all of its data: {removed} rows"


def _print(answer: Any, *, as_json: bool) -> None:
    from streamward.cli import output

    if as_json:
        output.print_tagged(answer.body, answer.etag)
        return
    tenant = answer.body
    output.print_facts([
        ("tenant", tenant.tenant_id),
        ("name", tenant.name),
        ("changed", tenant.updated_at),
        ("etag", answer.etag),
    ])
