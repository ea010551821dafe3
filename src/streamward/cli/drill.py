"""`streamward drill`: drills, and what they measured."""

import sys
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
