"""`streamward detections`: what was seen."""

from streamward.cli.newest import Camera, Most, newest
from streamward.cli.options import AsJson, group

app = group("Lists what was seen.")


@app.callback()
def _detections() -> None:
    """A noun of its own, though it has one verb."""


@app.command("list")
def list_detections(
    *,
    camera: Camera = None,
    limit: Most = 100,
    as_json: AsJson = False,
) -> None:
    """List stored detections, the newest first."""
    from streamward.cli import output
    from streamward.protocol.records import DetectionPage

    found = newest("detections", DetectionPage, camera=camera, most=limit)
    if as_json:
        output.print_lines(found)
        return
    rows = [
        (
            each.detection_id,
            each.camera_uuid,
            each.made_at,
            each.label,
            each.track_id,
            each.confidence,
            each.zones,
            each.late,
            each.batch_id,
        )
        for each in found
    ]
    if rows:
        headings = ("DETECTION", "CAMERA", "MADE", "WHAT", "TRACK", "CONFIDENCE", "ZONES", "LATE", "BATCH")
        output.print_table(headings, rows)
    else:
        output.say("no detections yet: `streamward batcher` stores what Workers see")
