"""`streamward drill blackout`: the control plane is away for longer than leases last."""

import sys
from typing import Annotated

import typer

from streamward.cli.drill_options import (
    Amqp,
    Cameras,
    Data,
    Database,
    OnControlLoss,
    RenewEvery,
    Runners,
    Ttl,
    broker_url,
    database_url,
)
from streamward.cli.options import AsJson

_BEYOND = 2.0  # seconds beyond the end of leases in which there is something to see


def blackout(
    *,
    seconds: Annotated[float, typer.Option(min=6, help="How long the control plane is away.")] = 120.0,
    on_control_loss: Annotated[OnControlLoss, typer.Option(help="What runners do meanwhile.")] = OnControlLoss.STOP,
    cameras: Cameras = 12,
    runners: Runners = 2,
    ttl: Ttl = 8.0,
    renew_every: RenewEvery = 2.0,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Kill (-9) the control plane for minutes, and see that Workers stop in time or go on, and are soon back.

    With SQLite the database is away with it; a PostgreSQL stays. Starts a fleet of its own. Exits with 1 if an
    objective was missed.
    """
    from streamward.drills.blackout.run import BlackoutSpec, main
    from streamward.drills.takeover.fleet import FleetSpec

    if seconds < ttl + _BEYOND:
        told = f"leases last {ttl:g} s: say at least {ttl + _BEYOND:g}, for something to be seen"
        raise typer.BadParameter(told, param_hint="--seconds")
    made = FleetSpec(
        cameras=cameras,
        runners=runners,
        ttl=ttl,
        renew_every=renew_every,
        database=database_url(database),
        amqp=broker_url(amqp),
    )
    spec = BlackoutSpec(fleet=made, seconds=seconds, on_control_loss=on_control_loss, data=data)
    sys.exit(main(spec, as_json=as_json))
