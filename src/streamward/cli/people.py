"""`streamward people`: who is known, who is invited, and what each may do."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson, CodeTtl, Yes, confirm, group

app = group("Lists people and runners that are known, invites people, changes their roles and revokes them.")


class PersonRole(StrEnum):
    """What a person may be."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"


IdentityName = Annotated[str, typer.Argument(metavar="ID", help="The identity's id, as `people list` tells it.")]
WantedRole = Annotated[
    PersonRole,
    typer.Option("--role", help="viewer: sees; operator: changes cameras and runners too; admin: people too."),
]


@app.command("list")
def list_people(
    *,
    everyone: Annotated[bool, typer.Option("--all", help="Those too who were revoked.")] = False,
    as_json: AsJson = False,
) -> None:
    """List who is known, people and runners, by the key that proves each."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.identities import IdentityPage

    pages = connect().pages(place("v1", "identities"), IdentityPage, {"limit": LARGEST_PAGE})
    known = (each for page in pages for each in page.items if everyone or each.revoked_at is None)
    if as_json:
        output.print_lines(output.counted(known, "identities"))
        return
    by_name = sorted(known, key=lambda each: (each.tenant_id or "", each.subject, each.identity_id))
    rows = [
        (each.identity_id, each.subject, each.role, each.tenant_id or "all", each.updated_at, each.revoked_at)
        for each in by_name
    ]
    if rows:
        headings = ("ID", "NAME", "ROLE", "TENANT", "CHANGED", "REVOKED")
        shown = len(headings) if everyone else len(headings) - 1
        output.print_table(headings[:shown], [row[:shown] for row in rows])
    else:
        output.say("nobody is known yet: invite somebody with `streamward people invite NAME --role ROLE`")


@app.command()
def invite(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whom the code is for; the audit calls them so.")],
    *,
    role: WantedRole,
    tenant: Annotated[str | None, typer.Option(help="Whose; without it yours, or the whole installation.")] = None,
    ttl: CodeTtl = "24h",
    as_json: AsJson = False,
) -> None:
    """Make a one-time code with which a person signs in; it is shown this once."""
    from streamward.cli.invitation import invite as make

    make(name, role=role.value, tenant=tenant, ttl=ttl, as_json=as_json)


@app.command("set")
def change(identity: IdentityName, *, role: WantedRole, as_json: AsJson = False) -> None:
    """Give a person another role; tokens from before count no more."""
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.identities import ChangeIdentity, IdentityDetails

    link, path = connect(), place("v1", "identities", identity)
    etag = link.get(path, IdentityDetails).etag
    _print(link.patch(path, ChangeIdentity(role=role.value), IdentityDetails, etag=etag), as_json=as_json)


@app.command()
def revoke(identity: IdentityName, *, yes: Yes = False, as_json: AsJson = False) -> None:
    """Trust a key no more: on every control plane within 5 seconds."""
    confirm(f"trust {identity} no more?", is_sure=yes)
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.identities import IdentityRevoked

    revoked = connect().delete(place("v1", "identities", identity), IdentityRevoked).body
    if as_json:
        output.print_json(revoked)
    else:
        print(f"revoked {revoked.identity_id}")


@app.command()
def invitations(*, as_json: AsJson = False) -> None:
    """List invitations that can still be used; their codes are shown nowhere."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.identities import InvitationPage

    pages = connect().pages(place("v1", "invitations"), InvitationPage, {"limit": LARGEST_PAGE})
    found = (each for page in pages for each in page.items)
    if as_json:
        output.print_lines(found)
        return
    rows = [(each.invitation_id, each.subject, each.role, each.tenant_id or "all", each.expires_at) for each in found]
    if rows:
        output.print_table(("ID", "NAME", "ROLE", "TENANT", "EXPIRES"), rows)
    else:
        output.say("nobody is invited just now")


@app.command()
def cancel(
    invitation: Annotated[str, typer.Argument(metavar="ID", help="The invitation's id.")], *, as_json: AsJson = False
) -> None:
    """Make a one-time code worthless."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.identities import InvitationRemoved

    removed = connect().delete(place("v1", "invitations", invitation), InvitationRemoved).body
    if as_json:
        output.print_json(removed)
    else:
        print(f"cancelled {removed.invitation_id}")


def _print(answer: Any, *, as_json: bool) -> None:
    from streamward.cli import output

    if as_json:
        output.print_tagged(answer.body, answer.etag)
        return
    known = answer.body
    output.print_facts([
        ("id", known.identity_id),
        ("name", known.subject),
        ("role", known.role),
        ("tenant", known.tenant_id or "all"),
        ("changed", known.updated_at),
        ("revoked", known.revoked_at),
        ("etag", answer.etag),
    ])
