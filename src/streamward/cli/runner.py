"""`streamward runner`: keeps leases on this host, and has its cameras watched by Workers."""

import os
import sys
from typing import Annotated

import typer

_GRACE_MARGIN = 5.0  # seconds that the parent waits beyond the Manager's own grace


def run(
    *,
    parent_channel: Annotated[int | None, typer.Option(hidden=True)] = None,
    parent_pid: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Take cameras as they come free, and watch them with Workers.

    This host must have been enrolled (`streamward enrol`). One runner for each host is enough: it starts as many
    processes as its cameras need. Ctrl-C gives everything back, and ends them.
    """
    from streamward.settings import load

    settings = load()
    if parent_channel is None or parent_pid is None:
        grace = settings.runner.grace_s + _GRACE_MARGIN
        command = [sys.executable, "-m", "streamward", "runner"]
        os.execv(sys.executable, [sys.executable, "-m", "streamward.runner.parent", f"{grace:g}", *command])  # noqa: S606 - our own program

    import asyncio

    from streamward.leases.lease import Owner
    from streamward.runner.manager_app import run as manage

    def announce(owner: Owner, url: str) -> None:
        print(f"Runner {owner.runner_id} takes cameras from {url}. Ctrl-C drains it.", flush=True)

    assert parent_channel is not None
    sys.exit(asyncio.run(manage(settings, parent_channel=parent_channel, announce=announce)))
