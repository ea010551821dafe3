"""`streamward batches`: closed batches, and what was said of them."""

from typing import Annotated

import typer

from streamward.cli.newest import Camera, Most, newest
from streamward.cli.options import AsJson, group

app = group("Lists closed batches, and tells what was said of them.")

Batch = Annotated[
    str, typer.Argument(metavar="BATCH", help="The batch's id, or the beginning of it, as messages have it.")
]


@app.command("list")
def list_batches(
    *,
    camera: Camera = None,
    limit: Most = 100,
    as_json: AsJson = False,
) -> None:
    """List closed batches, the newest first."""
    from streamward.cli import output
    from streamward.protocol.records import BatchPage

    found = newest("batches", BatchPage, camera=camera, most=limit)
    if as_json:
        output.print_lines(found)
        return
    rows = [
        (each.batch_id, each.camera_uuid, each.started_at, each.closed_at, each.detection_count, each.close_reason)
        for each in found
    ]
    if rows:
        output.print_table(("BATCH", "CAMERA", "STARTED", "CLOSED", "DETECTIONS", "WHY"), rows)
    else:
        output.say("no closed batches yet: `streamward batcher` makes them of what Workers see")


@app.command()
def show(batch: Batch, *, as_json: AsJson = False) -> None:
    """Show a batch, what is in it, and what was said of it."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.link import place
    from streamward.protocol.records import WholeBatch

    whole = connect().get(place("v1", "batches", batch), WholeBatch).body
    if as_json:
        output.print_json(whole)
        return
    told, said = whole.batch, whole.analysis
    output.print_facts([
        ("batch", told.batch_id),
        ("camera", told.camera_uuid),
        ("tenant", told.tenant_id),
        ("started", told.started_at),
        ("first frame", told.pipeline_start_time),
        ("closed", told.closed_at),
        ("why", told.close_reason),
        ("detections", told.detection_count),
        ("analyst", None if said is None else said.analyst),
        ("summary", None if said is None else said.summary),
        ("risk", None if said is None else said.risk),
        ("reasons", None if said is None else said.reasons),
    ])
