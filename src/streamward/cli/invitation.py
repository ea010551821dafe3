"""How a command invites a person or a runner: the code is printed once, in the line that its bearer types."""

from streamward.cli import output
from streamward.cli.connect import connect
from streamward.cli.link import place
from streamward.cli.options import lifetime
from streamward.model.identity import Role
from streamward.protocol.identities import CreateInvitation, InvitationMade


def invite(name: str, *, role: str, tenant: str | None, ttl: str, as_json: bool) -> None:
    """Makes a code and tells what to do with it."""
    seconds = int(lifetime(ttl).total_seconds())
    message = CreateInvitation(subject=name, role=Role(role), tenant_id=tenant, ttl_s=seconds)
    link = connect()
    made = link.post(place("v1", "invitations"), message, InvitationMade).body
    if as_json:
        output.print_json(made)
        return
    is_runner = made.role is Role.RUNNER
    verb, where = ("enrol", "on the runner's host") if is_runner else ("login", "where they work")
    whose = "the whole installation" if made.tenant_id is None else f"tenant {made.tenant_id}"
    print(f"{made.subject} is invited as {made.role} of {whose} until {output.cell(made.expires_at)}.")
    print(f"The code works once and is not shown again; to be typed {where}:\n")
    print(f"  streamward {verb} {link.url} --code {made.code.secret.reveal()}", flush=True)
