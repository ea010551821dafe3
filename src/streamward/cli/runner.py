"""`streamward runner`: keeps leases on this host, and has its cameras watched by Workers."""

import os
import sys
from typing import Annotated

import typer

from streamward.cli import readiness

_GRACE_MARGIN = 5.0  # seconds that the parent waits beyond the Manager's own grace


def run(
    *,
    parent_channel: Annotated[int | None, typer.Option(hidden=True)] = None,
    parent_pid: Annotated[int | None, typer.Option(hidden=True)] = None,
    ready_fd: readiness.ReadyFd = None,
) -> None:
    """Take cameras as they come free, and watch them with Workers.

    This host must have been enrolled (`streamward enrol`). One runner for each host is enough: it starts as many
    processes as its cameras need. Ctrl-C gives everything back, and ends them.
    """
    from streamward.runtime import core_dumps
    from streamward.settings import load

    settings = load()
    if not settings.core_dumps:
        core_dumps.forbid()
    if parent_channel is None or parent_pid is None:
        grace = settings.runner.grace_s + _GRACE_MARGIN
        command = [sys.executable, "-m", "streamward", "runner"]
        if ready_fd is not None:  # the Manager reports; the parent's copy ends with the parent
            os.set_inheritable(ready_fd, True)
            command.append(f"--ready-fd={ready_fd}")
        os.execv(sys.executable, [sys.executable, "-m", "streamward.runner.parent", f"{grace:g}", *command])  # noqa: S606 - our own program

    import asyncio

    from streamward.protocol.readiness import RunnerReady
    from streamward.runner.manager_app import run as manage

    def announce(ready: RunnerReady, *, url: str) -> None:
        print(f"Runner {ready.runner_id} takes cameras from {url}. Ctrl-C drains it.", flush=True)
        readiness.report(ready_fd, ready)

    assert parent_channel is not None
    sys.exit(asyncio.run(manage(settings, parent_channel=parent_channel, announce=announce)))
