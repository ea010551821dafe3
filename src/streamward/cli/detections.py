"""`streamward detections`: what was seen."""

import itertools
from typing import Annotated

import typer

from streamward.cli.options import AsJson, group

app = group("Lists what was seen.")


@app.callback()
def _detections() -> None:
    """A noun of its own, though it has one verb."""


@app.command("list")
def list_detections(
    *,
    camera: Annotated[str | None, typer.Option(help="Of this camera only.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List stored detections, the newest first."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.fields import LARGEST_PAGE
    from streamward.protocol.records import DetectionPage

    query = {"camera_uuid": camera, "limit": min(limit, LARGEST_PAGE)}
    pages = connect().pages(place("v1", "detections"), DetectionPage, query)
    found = itertools.islice((each for page in pages for each in page.items), limit)
    if as_json:
        output.print_lines(found)
        return
    rows = [
        (each.detection_id, each.camera_uuid, each.made_at, each.label, each.confidence, each.late, each.batch_id)
        for each in found
    ]
    if rows:
        output.print_table(("DETECTION", "CAMERA", "MADE", "WHAT", "CONFIDENCE", "LATE", "BATCH"), rows)
    else:
        output.say("no detections yet: `streamward batcher` stores what Workers see")
