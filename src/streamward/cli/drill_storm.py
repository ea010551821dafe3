"""`streamward drill dialstorm` and `drill reboot`: many cameras of one recorder want to be dialed at once."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from streamward.cli.options import AsJson

Cameras = Annotated[int, typer.Option(min=1, max=200, help="Simulated cameras, all of one recorder and site.")]
Runners = Annotated[int, typer.Option(min=1, max=26, help="Runners that share the site; none has room for all.")]
Slow = Annotated[float, typer.Option(min=0, max=2, help="Seconds that the recorder takes for each answer.")]
Data = Annotated[Path | None, typer.Option(help="Folder that is kept; else a temporary one.")]


def dialstorm(
    *, cameras: Cameras = 100, runners: Runners = 3, slow: Slow = 0.3, data: Data = None, as_json: AsJson = False
) -> None:
    """Add many cameras to one site at once, and see what its recorder meets.

    No more dials at once than the site's budget has places, none before it has a token, and all cameras streaming when
    the budget allows it, give or take 5 s. Starts a fleet of its own. Exits with 1 if an objective was missed.
    """
    from streamward.drills.storm.account import Cause
    from streamward.drills.storm.run import StormSpec, main

    spec = StormSpec(cause=Cause.ADDED, cameras=cameras, runners=runners, answers_after=slow, data=data)
    sys.exit(main(spec, as_json=as_json))


def reboot(
    *,
    cameras: Cameras = 100,
    runners: Runners = 3,
    down: Annotated[float, typer.Option(min=2, max=60, help="Seconds that the recorder is away.")] = 10.0,
    go2rtc: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Read cameras through this go2rtc (mode B).")
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Let the recorder of many cameras reboot, and see how it is dialed when it is back.

    All runners together keep to the site's rate, and every camera is back within a minute. Starts a fleet of its own.
    Exits with 1 if an objective was missed.
    """
    from streamward.drills.storm.account import Cause
    from streamward.drills.storm.run import StormSpec, main

    spec = StormSpec(cause=Cause.REBOOT, cameras=cameras, runners=runners, down_for=down, go2rtc=go2rtc, data=data)
    sys.exit(main(spec, as_json=as_json))
