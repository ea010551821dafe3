"""`streamward tenants`: whose cameras there are."""

from typing import Annotated, Any

import typer

from streamward.cli.batching import change as change_batching
from streamward.cli.options import AsJson, IfMatch, Yes, confirm, group

app = group("Lists, adds, renames and removes tenants, and says when their batches close.")
app.command("batching")(change_batching)

TenantName = Annotated[str, typer.Argument(metavar="TENANT", help="The tenant's id.")]
Title = Annotated[str, typer.Option("--name", help="Its name, as people read it.")]


@app.command("list")
def list_tenants(*, as_json: AsJson = False) -> None:
    """List tenants in the order of their ids."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.tenants import TenantPage

    pages = connect().pages(place("v1", "tenants"), TenantPage, {"limit": LARGEST_PAGE})
    found = output.counted((tenant for page in pages for tenant in page.items), "tenants")
    if as_json:
        output.print_lines(found)
        return
    rows = [(each.tenant_id, each.name, each.updated_at) for each in found]
    if rows:
        output.print_table(("TENANT", "NAME", "CHANGED"), rows)
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
def remove(tenant: TenantName, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Remove a tenant that has no sites left."""
    confirm(f"remove tenant {tenant}?", is_sure=yes)
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.tenants import TenantDetails, TenantRemoved

    link, path = connect(), place("v1", "tenants", tenant)
    removed = link.delete(path, TenantRemoved, etag=link.get(path, TenantDetails).etag).body
    if as_json:
        output.print_json(removed)
    else:
        print(f"removed {removed.tenant_id}")


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
