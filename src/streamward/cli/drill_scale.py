"""`streamward drill scale`: a thousand cameras without pictures on one machine."""

import sys
from typing import Annotated

import typer

from streamward.cli.drill_options import (
    Amqp,
    Data,
    Database,
    RenewEvery,
    Seed,
    Ttl,
    broker_url,
    database_url,
    lasting,
)
from streamward.cli.options import AsJson


def scale(
    *,
    minutes: Annotated[float | None, typer.Option(min=0.1, help="How long all is steady.  [default: 10]")] = None,
    seconds: Annotated[float | None, typer.Option(min=1, help="The same in seconds.")] = None,
    cameras: Annotated[int, typer.Option(min=10, max=1000, help="Cameras that show empty pictures.")] = 1000,
    sites: Annotated[int, typer.Option(min=1, max=500, help="Sites that have as many each; five make a tenant.")] = 50,
    runners: Annotated[int, typer.Option(min=2, max=99, help="Runners.")] = 25,
    capacity: Annotated[int, typer.Option(min=1, max=1000, help="Cameras that each has room for.")] = 40,
    fps: Annotated[
        float,
        typer.Option(min=0.01, max=0.5, help="Pictures of each that are looked at a second; one costs about 1 ms."),
    ] = 0.1,
    kills: Annotated[int, typer.Option(min=0, max=20, help="Runners that are killed; as many stand by.")] = 5,
    ttl: Ttl = 8.0,
    renew_every: RenewEvery = 2.0,
    seed: Seed = None,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Watch a thousand cameras that show empty pictures, kill some of their runners, and print what that costs.

    Leases, API, Workers, events and bus are real; nothing is decoded and no camera is dialed. A tenth of the fleet
    comes first, to compare with. Starts a fleet of its own. Exits with 1 if an objective was missed.
    """
    from streamward.drills.scale.fleet import ScaleSpec
    from streamward.drills.scale.layout import Layout
    from streamward.drills.scale.run import main

    layout = Layout(cameras=cameras, sites=sites, runners=runners, capacity=capacity, kills=kills)
    if layout.room < cameras:
        raise typer.BadParameter(f"{runners} runners have room for {layout.room} cameras only", param_hint="--capacity")
    if kills >= runners:
        raise typer.BadParameter("a runner has to be left", param_hint="--kills")
    spec = ScaleSpec(
        layout=layout,
        seconds=lasting(minutes, seconds),
        max_fps=fps,
        ttl=ttl,
        renew_every=renew_every,
        seed=seed,
        database=database_url(database),
        amqp=broker_url(amqp),
        data=data,
    )
    sys.exit(main(spec, as_json=as_json))
