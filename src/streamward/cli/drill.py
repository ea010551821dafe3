"""`streamward drill`: drills, and what they measured."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from streamward.cli.options import AsJson, group

app = group("Runs a drill and prints what was measured.")


@app.command()
def simulate(
    *,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to run.")] = 200,
    start: Annotated[int | None, typer.Option(min=0, help="The first seed; a fresh one if not given.")] = None,
    bug: Annotated[
        str | None, typer.Option(help="Plant this bug and stop when it is caught; `list` names them.")
    ] = None,
    with_trace: Annotated[bool, typer.Option("--trace", help="Print all that happened in the first seed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run the lease core through seeded faults and check that nobody ever shares a camera.

    Exits with 1 if an invariant did not hold.
    """
    from streamward.drills.simulate import list_bugs, main, trace

    if bug == "list":
        print(list_bugs())
        return
    if with_trace:
        print(trace(start or 0, bug))
        return
    sys.exit(main(seeds=seeds, start=start, bug=bug, as_json=as_json))


@app.command()
def soak(
    *,
    minutes: Annotated[float | None, typer.Option(min=0.1, help="How long faults come.  [default: 10]")] = None,
    seconds: Annotated[float | None, typer.Option(min=10, help="The same in seconds.")] = None,
    cameras: Annotated[int, typer.Option(min=2, max=64, help="Simulated cameras.")] = 12,
    fault_every: Annotated[float, typer.Option(min=8, help="Seconds from one fault to the next.")] = 10.0,
    max_fps: Annotated[
        float, typer.Option(min=0.1, max=60, help="Frames of a camera that are looked at a second.")
    ] = 6.0,
    amqp: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="RabbitMQ for the embedded bus; with a login: `setting`, STREAMWARD_AMQP_URL."
        ),
    ] = None,
    data: Annotated[Path | None, typer.Option(help="Folder that is kept; else a temporary one.")] = None,
    slow_model: Annotated[bool, typer.Option("--slow-model", help="A detector that takes 0.25 s for a frame.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a Worker for long while its cameras misbehave, one after the other, and measure what it does.

    Starts a control plane, a recorder and a Worker of its own. Exits with 1 if an objective was missed.
    """
    from streamward.drills.soak.run import SoakSpec, main

    if minutes is not None and seconds is not None:
        raise typer.BadParameter("say how long in minutes or in seconds, not both", param_hint="--seconds")
    lasts = seconds if seconds is not None else 60 * (10.0 if minutes is None else minutes)
    spec = SoakSpec(
        seconds=lasts,
        fault_every=fault_every,
        cameras=cameras,
        max_fps=max_fps,
        amqp=_broker(amqp),
        data=data,
        is_slow=slow_model,
    )
    sys.exit(main(spec, as_json=as_json))


def _broker(named: str | None) -> str | None:
    """The URL of a RabbitMQ: as it was named, or as it is set."""
    if named != "setting":
        if named is not None and "@" in named:
            raise typer.BadParameter(
                "a command line can be read by everybody on this host: "
                "put a URL with a login into STREAMWARD_AMQP_URL, and say --amqp setting",
                param_hint="--amqp",
            )
        return named
    from streamward.settings import load

    url = load().amqp.url
    if url is None:
        raise typer.BadParameter("STREAMWARD_AMQP_URL is not set", param_hint="--amqp")
    return url.get_secret_value()
