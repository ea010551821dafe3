"""`streamward events`: what is seen and batched and happens at zones, as it happens."""

import itertools
import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from streamward.cli.options import AsJson, group

app = group("Follows what is seen and batched, as it happens.")


class EventKind(StrEnum):
    """What can be listened to."""

    NEW = "detection.new"
    ALERT = "detection.alert"
    BATCH = "detection.batch"
    ZONE = "zone.event"


@app.callback()
def _events() -> None:
    """A noun of its own, though it has one verb."""


@app.command()
def tail(
    *,
    camera: Annotated[str | None, typer.Option(help="Of this camera only, by its id or name.")] = None,
    kind: Annotated[EventKind | None, typer.Option(help="Of this kind only.")] = None,
    after: Annotated[
        int | None, typer.Option(min=0, help="Begin after this id; 0: with the first that is kept. Else from now on.")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="End after so many; else with Ctrl-C.")] = None,
    as_json: AsJson = False,
) -> None:
    """Follow detections, alerts, closed batches and zones; goes on where it was when the control plane was away."""
    from streamward.cli import output
    from streamward.cli.camera_names import camera_id
    from streamward.cli.connect import connect
    from streamward.cli.tail import Tail

    link = connect()
    found = None if camera is None else camera_id(link, camera)
    query = {"camera_uuid": found, "kind": None if kind is None else kind.value}
    events = Tail(link, query, say=output.warn, after=after).follow()
    for event in itertools.islice(events, limit):
        if as_json:
            output.print_json({"id": event.id, "event": event.name, "data": event.data})
        else:
            print(line(event.name, event.data), flush=True)


def line(name: str, data: dict[str, Any]) -> str:
    """What happened, as one line; of what nobody here knows, all that was told."""
    from streamward.cli.output import cell

    match name:
        case EventKind.BATCH:
            at, said = (
                data["closed_at"],
                [data["batch_id"], f"{data['detection_count']} detections, {data['close_reason']}"],
            )
        case EventKind.ZONE:
            at, said = data["timestamp"], [happened(data)]
        case EventKind.NEW | EventKind.ALERT:
            at, said = data["timestamp"], [data["batch_id"], f"{data['label']} {data['confidence']:.2f}"]
        case _:  # a newer control plane tells more
            whose = [data["camera_id"]] if "camera_id" in data else []
            return "  ".join(cell(each) for each in (name, *whose, json.dumps(data)))
    return "  ".join(cell(each) for each in (_clock(at), f"{name:<15}", data["camera_id"], *said))


def happened(data: dict[str, Any]) -> str:
    """What somebody did with a zone, in words."""
    who, zone, stayed = f"{data['label']} {data['track_id']}", data["zone"], f"{data['stayed_s']:.0f} s"
    match data["type"]:
        case "enter":
            return f"{who} entered {zone}"
        case "dwell":
            return f"{who} has been in {zone} for {stayed}"
        case _:
            return f"{who} left {zone} after {stayed}"


def _clock(instant: str) -> str:
    return datetime.fromisoformat(instant).astimezone().strftime("%H:%M:%S")
