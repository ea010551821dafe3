"""`streamward zones`: who entered zones, stayed there and left."""

from streamward.cli.newest import Camera, Most, newest
from streamward.cli.options import AsJson, group

app = group("Lists who entered zones, stayed there and left.")


@app.callback()
def _zones() -> None:
    """A noun of its own, though it has one verb."""


@app.command("list")
def list_zone_events(
    *,
    camera: Camera = None,
    limit: Most = 100,
    as_json: AsJson = False,
) -> None:
    """List stored zone events, the newest first."""
    from streamward.cli import output
    from streamward.protocol.records import ZoneEventPage

    found = newest("zone-events", ZoneEventPage, camera=camera, most=limit)
    if as_json:
        output.print_lines(found)
        return
    rows = [
        (
            each.zone_event_id,
            each.camera_uuid,
            each.made_at,
            each.zone,
            each.type,
            each.label,
            each.track_id,
            each.stayed_s,
            each.late,
        )
        for each in found
    ]
    if rows:
        output.print_table(("EVENT", "CAMERA", "MADE", "ZONE", "WHAT", "WHO", "TRACK", "STAYED", "LATE"), rows)
    else:
        output.say("no zone events yet: `streamward batcher` stores what Workers tell of cameras that have zones")
