"""`streamward drill`: drills, and what they measured."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from streamward.cli.drill_blackout import blackout
from streamward.cli.drill_options import (
    Amqp,
    Cameras,
    Data,
    Database,
    KeyEvery,
    OnControlLoss,
    RenewEvery,
    Runners,
    Seed,
    Ttl,
    broker_url,
    database_url,
    lasting,
)
from streamward.cli.drill_scale import scale
from streamward.cli.drill_storm import dialstorm, reboot
from streamward.cli.options import AsJson, group
from streamward.model.runner import DrainMode

app = group("Runs a drill and prints what was measured.")
app.command()(blackout)
app.command()(dialstorm)
app.command()(reboot)
app.command()(scale)


class How(StrEnum):
    """What is done to a runner."""

    KILL = "kill"
    FREEZE = "freeze"
    CUT = "cut"
    DRAIN = "drain"


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

    spec = SoakSpec(
        seconds=lasting(minutes, seconds),
        fault_every=fault_every,
        cameras=cameras,
        max_fps=max_fps,
        amqp=broker_url(amqp),
        data=data,
        is_slow=slow_model,
    )
    sys.exit(main(spec, as_json=as_json))


@app.command()
def takeover(
    *,
    how: Annotated[How, typer.Option(help="What is done to a runner.")] = How.KILL,
    kills: Annotated[int, typer.Option(min=1, help="How often it is done.")] = 20,
    key_every: KeyEvery = None,
    rested: Annotated[
        bool, typer.Option("--rested", help="Wait each time until the site's reserve for takeovers is full again.")
    ] = False,
    cameras: Cameras = 12,
    runners: Runners = 2,
    ttl: Ttl = 8.0,
    renew_every: RenewEvery = 2.0,
    seed: Seed = None,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Kill, freeze, cut off or drain runners in turn, and measure until every camera streams at another one.

    Starts a control plane, a recorder and runners of its own; a fleet that runs is left alone. Each time the runner
    with the most cameras is hit at a random phase of its renewals, and brought back when its cameras have moved. To be
    cut off, runners live in network namespaces, for which this has to be root.
    Exits with 1 if an objective was missed.
    """
    from streamward.drills.takeover.account import How as Blow
    from streamward.drills.takeover.fleet import FleetSpec
    from streamward.drills.takeover.run import DrillSpec, main

    made = FleetSpec(
        cameras=cameras,
        runners=runners,
        ttl=ttl,
        renew_every=renew_every,
        database=database_url(database),
        amqp=broker_url(amqp),
        is_apart=how is How.CUT,
        key_every=key_every,
    )
    spec = DrillSpec(fleet=made, how=Blow(how), times=kills, is_rested=rested, seed=seed, data=data)
    sys.exit(main(spec, as_json=as_json))


@app.command()
def drain(
    mode: Annotated[DrainMode, typer.Argument(help="soft: a few cameras at a time; hard: all at once.")] = (
        DrainMode.SOFT
    ),
    *,
    times: Annotated[int, typer.Option(min=1, help="How often a runner is drained.")] = 5,
    cameras: Cameras = 12,
    runners: Runners = 2,
    seed: Seed = None,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Drain runners in turn, and measure how long each camera is not watched.

    Starts a control plane, a recorder and runners of its own; a fleet that runs is left alone. Exits with 1 if an
    objective was missed.
    """
    from streamward.drills.takeover.account import How as Blow
    from streamward.drills.takeover.fleet import FleetSpec
    from streamward.drills.takeover.run import DrillSpec, main

    if mode is DrainMode.NONE:
        raise typer.BadParameter("say soft or hard", param_hint="MODE")
    made = FleetSpec(cameras=cameras, runners=runners, database=database_url(database), amqp=broker_url(amqp))
    blow = Blow.SOFT if mode is DrainMode.SOFT else Blow.DRAIN
    sys.exit(main(DrillSpec(fleet=made, how=blow, times=times, seed=seed, data=data), as_json=as_json))


@app.command()
def splitbrain(
    *,
    rounds: Annotated[int, typer.Option(min=1, help="How often a runner is misled, in each way in turn.")] = 6,
    on_control_loss: Annotated[
        OnControlLoss, typer.Option(help="What runners do without a control plane; those that go on try more.")
    ] = OnControlLoss.CONTINUE_FENCED,
    cameras: Cameras = 12,
    runners: Runners = 2,
    ttl: Ttl = 8.0,
    renew_every: RenewEvery = 2.0,
    seed: Seed = None,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let runners believe in cameras that another has, and count what the fence makes of what they publish.

    In turn: the way to the control plane is cut for one runner, while its cameras and the bus are there; all of a
    runner stands still, with events that wait for the bus, until its leases are over, and goes on. Starts a fleet of
    its own. Exits with 1 if anything stale was taken for live.
    """
    from streamward.drills.splitbrain.run import SplitSpec, main
    from streamward.drills.takeover.fleet import FleetSpec

    made = FleetSpec(
        cameras=cameras,
        runners=runners,
        ttl=ttl,
        renew_every=renew_every,
        database=database_url(database),
        amqp=broker_url(amqp),
    )
    spec = SplitSpec(fleet=made, rounds=rounds, on_control_loss=on_control_loss, seed=seed, data=data)
    sys.exit(main(spec, as_json=as_json))


@app.command()
def reconfig(
    *,
    times: Annotated[int, typer.Option(min=1, help="How often all orders are given in turn.")] = 3,
    cameras: Annotated[int, typer.Option(min=4, max=254, help="Simulated cameras, beside two more.")] = 12,
    runners: Runners = 2,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Add, change, disable, enable and remove cameras of a fleet that runs, and see whether the others notice.

    Lost pictures are told by what the recorder paints into them, connections by the recorder. Starts a fleet of its
    own. Exits with 1 if an objective was missed.
    """
    from streamward.drills.reconfig.run import ReconfigSpec, main
    from streamward.drills.takeover.fleet import FleetSpec

    made = FleetSpec(cameras=cameras, runners=runners, database=database_url(database), amqp=broker_url(amqp))
    sys.exit(main(ReconfigSpec(fleet=made, times=times, data=data), as_json=as_json))


@app.command()
def bluegreen(
    *,
    times: Annotated[int, typer.Option(min=0, help="How often the Workers of every runner are replaced.")] = 3,
    kills: Annotated[int, typer.Option(min=0, help="How often more, with the old Worker killed on the way.")] = 0,
    drains: Annotated[int, typer.Option(min=0, help="How often every runner is drained softly after that.")] = 0,
    key_every: KeyEvery = None,
    cameras: Cameras = 12,
    runners: Runners = 2,
    seed: Seed = None,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Replace the Workers of a fleet that runs, or drain its runners, and count the pictures that it costs each camera.

    Pictures are told by what the recorder paints into them, connections by the recorder. Starts a fleet of its own.
    Exits with 1 if an objective was missed.
    """
    from streamward.drills.bluegreen.run import BluegreenSpec, main
    from streamward.drills.takeover.fleet import FleetSpec

    made = FleetSpec(
        cameras=cameras,
        runners=runners,
        database=database_url(database),
        amqp=broker_url(amqp),
        key_every=key_every,
    )
    wanted = BluegreenSpec(fleet=made, times=times, kills=kills, drains=drains, seed=seed, data=data)
    sys.exit(main(wanted, as_json=as_json))


@app.command()
def steady(
    *,
    minutes: Annotated[float | None, typer.Option(min=0.1, help="How long the weather is bad.  [default: 10]")] = None,
    seconds: Annotated[float | None, typer.Option(min=10, help="The same in seconds.")] = None,
    loss: Annotated[float, typer.Option(min=0, max=0.9, help="Share of packets that is lost, each way.")] = 0.1,
    delay: Annotated[float, typer.Option(min=0, max=10, help="Seconds that there and back takes longer.")] = 0.3,
    stall: Annotated[
        float, typer.Option(min=0.1, max=9, help="Seconds that the control plane is stopped, every 10 s.")
    ] = 2.0,
    cameras: Cameras = 12,
    runners: Runners = 2,
    ttl: Ttl = 8.0,
    renew_every: RenewEvery = 2.0,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Lose and delay packets, stop the control plane for 2 s every 10 s, keep a core busy: no camera changes its owner.

    Runners live in network namespaces, for which this has to be root. Starts a fleet of its own. Exits with 1 if a
    camera changed hands.
    """
    from streamward.drills.steady.account import Trouble
    from streamward.drills.steady.run import SteadySpec, main
    from streamward.drills.takeover.fleet import FleetSpec

    made = FleetSpec(
        cameras=cameras,
        runners=runners,
        ttl=ttl,
        renew_every=renew_every,
        database=database_url(database),
        amqp=broker_url(amqp),
    )
    trouble = Trouble(loss=loss, delay=delay, stall_for=stall)
    spec = SteadySpec(fleet=made, seconds=lasting(minutes, seconds), trouble=trouble, data=data)
    sys.exit(main(spec, as_json=as_json))


@app.command()
def leftovers(
    *,
    kills: Annotated[int, typer.Option(min=1, help="How many processes are killed, of each kind in turn.")] = 100,
    cameras: Cameras = 12,
    runners: Runners = 2,
    seed: Seed = None,
    database: Database = None,
    amqp: Amqp = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Kill (-9) any process of a runner at random moments, and look for what it leaves behind.

    Processes, listening ports and, at the recorder, camera sessions have to be gone after 2 s. Starts a fleet of its
    own. Exits with 1 if anything was left for longer.
    """
    from streamward.drills.leftovers.run import LeftoversSpec, main
    from streamward.drills.takeover.fleet import FleetSpec

    made = FleetSpec(cameras=cameras, runners=runners, database=database_url(database), amqp=broker_url(amqp))
    sys.exit(main(LeftoversSpec(fleet=made, kills=kills, seed=seed, data=data), as_json=as_json))
