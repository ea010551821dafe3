"""`streamward control`: serves the control plane, and tells a person what to try."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from streamward import __version__
from streamward.cli import readiness
from streamward.model.secret import Secret


def run(
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Add a small fleet to try things on.")] = False,
    ready_fd: readiness.ReadyFd = None,
) -> None:
    """Serve the control plane: leases, dial budgets, runners."""
    import asyncio

    import uvloop

    from streamward.control.app import serve
    from streamward.protocol.readiness import ControlReady
    from streamward.runtime import core_dumps
    from streamward.settings import load

    settings = load()
    if not settings.core_dumps:
        core_dumps.forbid()

    def announce(ready: ControlReady, *, database: str) -> None:
        print(_welcome(ready.url, database=database, data=str(settings.data), with_demo=demo), flush=True)
        if ready.code is not None:
            print(_first_sign_in(ready.url, ready.code.secret), flush=True)
        readiness.report(ready_fd, ready)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, with_demo=demo, announce=announce))


def _first_sign_in(address: str, code: Secret) -> str:
    """Told until there is an admin; each start tells another code, which can be used once."""
    return "\n".join([
        "Nobody is admin yet. Sign in with this one-time code, within 24 hours:",
        "",
        f"  {_command()} login {address} --code {code.reveal()}",
        "",
    ])


def _command() -> str:
    """How a person calls this program from here."""
    called = Path(sys.argv[0])
    if called.name != "streamward" or shutil.which("streamward"):
        return "streamward"
    return shlex.quote(os.path.relpath(called))


def _welcome(address: str, *, database: str, data: str, with_demo: bool) -> str:
    """What a person reads when the control plane serves."""
    where = "" if data == "data" else f"STREAMWARD_DATA={shlex.quote(data)} "
    body = '{"runner_id":"r1","camera_uuid":"harbour-1","ttl_seconds":10}'
    call = """curl -sw '\\n' -H "Authorization: Bearer $TOKEN\""""
    is_exposed = not re.match(r"https:|http://(127\.|localhost|\[::1\])", address)
    sent = f"-H 'Content-Type: application/json' -d '{body}'"
    lines = [
        f"Streamward {__version__} control plane",
        "",
        f"  listens on  {address}",
        f"  database    {database}",
        f"  API         {address}/openapi.json",
        *(["  note        not on loopback: put TLS in front, tokens travel in the clear"] if is_exposed else []),
        *(["  fleet       2 tenants, 3 sites, 12 cameras (demo)"] if with_demo else []),
        "",
        "Try in another terminal:",
        "",
        f"  TOKEN=$({where}{_command()} token --runner r1)",
        f"  {call} '{address}/v1/cameras?limit=3'",
        *(
            [
                f"  {call} {sent} {address}/v1/leases/camera/acquire",
                f"  {call} {address}/v1/cameras/harbour-1/why",
            ]
            if with_demo
            else ["  # no cameras yet? start with --demo for a small fleet"]
        ),
        "",
        "Ctrl-C stops it.",
        "",
    ]
    return "\n".join(lines)
