"""`streamward leases`: who has which camera, and taking back what has run out."""

from typing import Annotated

import typer

from streamward.cli.options import AsJson, group

app = group("Takes back leases that have run out.")


@app.command()
def reclaim(
    camera: Annotated[str, typer.Argument(metavar="CAMERA", help="The camera's id.")],
    *,
    generation: Annotated[
        int | None, typer.Option(min=0, help="The grant that is meant; without it the present one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take an expired lease from its owner before its soft window ends."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.failure import CommandFailed
    from streamward.cli.link import place
    from streamward.protocol.leases import CamerasReleased, ReclaimCamera
    from streamward.protocol.why import CameraWhy

    link = connect()
    if generation is None:
        generation = link.get(place("v1", "cameras", camera, "why"), CameraWhy).body.version
    if generation is None:
        raise CommandFailed(f"nobody holds camera {camera}: there is nothing to reclaim")
    message = ReclaimCamera(camera_uuid=camera, version=generation)
    released = link.post(place("v1", "leases", "reclaim"), message, CamerasReleased).body
    if as_json:
        output.print_json(released)
    else:
        print(f"reclaimed {', '.join(released.released)} (generation {generation}): any runner may have it now")
