"""`streamward leases`: who has which camera, and taking back what has run out."""

from datetime import datetime
from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson, group
from streamward.leases.lease import SessionState

app = group("Lists who has which camera, and takes back leases that have run out.")

Camera = Annotated[str, typer.Argument(metavar="CAMERA", help="The camera's id or name.")]


@app.command("list")
def list_leases(
    *,
    site: Annotated[str | None, typer.Option(help="Only of this site.")] = None,
    runner: Annotated[str | None, typer.Option(help="Only what this runner has.")] = None,
    state: Annotated[
        SessionState | None, typer.Option(case_sensitive=False, help="Only in this state; PENDING: nobody has it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List who has which camera, in the order of their ids."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.lease_listing import LeasePage

    query = {"site_id": site, "runner_id": runner, "state": state, "limit": LARGEST_PAGE}
    pages = connect().pages(place("v1", "leases"), LeasePage, query)
    found = output.counted(((each, page.server_time) for page in pages for each in page.items), "leases")
    if as_json:
        output.print_lines(each for each, _ in found)
        return
    rows = [
        (each.camera_uuid, each.site_id, each.tenant_id, each.state, each.owner_id, each.version, _left(each, now))
        for each, now in found
    ]
    if rows:
        output.print_table(("CAMERA", "SITE", "TENANT", "STATE", "OWNER", "GENERATION", "LASTS"), rows)
    else:
        output.say("no lease matches")


@app.command()
def show(camera: Camera, *, as_json: AsJson = False) -> None:
    """Show who has a camera, and who had it before."""
    from streamward.cli import output
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.lease_listing import LeaseDetails

    link = connect()
    lease = link.get(place("v1", "leases", camera_id(link, camera)), LeaseDetails).body
    if as_json:
        output.print_json(lease)
        return
    output.print_facts([
        ("camera", lease.camera_uuid),
        ("site", lease.site_id),
        ("tenant", lease.tenant_id),
        ("state", lease.state),
        ("owner", lease.owner_id),
        ("incarnation", lease.incarnation),
        ("generation", lease.version),
        ("granted", lease.granted_at),
        ("lasts", _left(lease, lease.server_time)),
    ])
    if lease.grants:
        print()
        rows = [(each.version, each.owner_id, each.incarnation, each.granted_at) for each in lease.grants]
        output.print_table(("GENERATION", "OWNER", "INCARNATION", "GRANTED"), rows)


def _left(lease: Any, now: datetime) -> str | None:
    """How long a lease lasts still, by the database's clock; None: nobody has it."""
    if lease.owner_id is None or lease.expires_at is None:
        return None
    seconds = (lease.expires_at - now).total_seconds()
    return f"{seconds:.1f} s" if seconds > 0 else f"expired {-seconds:.0f} s ago"


@app.command()
def reclaim(
    camera: Camera,
    *,
    generation: Annotated[
        int | None, typer.Option(min=0, help="The grant that is meant; without it the present one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take an expired lease from its owner before its soft window ends."""
    from streamward.cli import output
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.failure import CommandFailed
    from streamward.cli.link import place
    from streamward.protocol.leases import CamerasReleased, ReclaimCamera
    from streamward.protocol.why import CameraWhy

    link = connect()
    found = camera_id(link, camera)
    if generation is None:
        generation = link.get(place("v1", "cameras", found, "why"), CameraWhy).body.version
    if generation is None:
        raise CommandFailed(f"nobody holds camera {camera}: there is nothing to reclaim")
    message = ReclaimCamera(camera_uuid=found, version=generation)
    released = link.post(place("v1", "leases", "reclaim"), message, CamerasReleased).body
    if as_json:
        output.print_json(released)
    else:
        print(f"reclaimed {', '.join(released.released)} (generation {generation}): any runner may have it now")
