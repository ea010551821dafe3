"""The command line: every role and tool of Streamward under one name.

What a command needs is imported inside it: `--help` must be quick, and a role must not load another's libraries.
"""

# ruff: noqa: PLC0415 - imports inside commands, see above

import os
import re
import shlex
import shutil
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from streamward import __version__
from streamward.model.errors import StreamwardError

app = typer.Typer(
    name="streamward",
    help="Keeps exactly one processor on every live camera.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
drill_app = typer.Typer(help="Runs a drill and prints what was measured.", no_args_is_help=True)
app.add_typer(drill_app, name="drill")
keys_app = typer.Typer(help="Changes the keys that seal camera credentials.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")

_UNITS = {"s": 1, "m": 60, "h": 3600}


def main() -> None:
    """The entry of the process: an error of ours is one sentence, not a stack."""
    try:
        app()
    except StreamwardError as err:
        print(f"streamward: {err}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


@app.command()
def control(
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Add a small fleet to try things on.")] = False,
) -> None:
    """Serve the control plane: leases, dial budgets, runners."""
    import asyncio

    import uvloop

    from streamward.control.app import serve
    from streamward.settings import load

    settings = load()

    def announce(*, address: str, database: str) -> None:
        print(_welcome(address, database=database, data=str(settings.data), with_demo=demo), flush=True)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, with_demo=demo, announce=announce))


@app.command()
def token(
    *,
    runner: Annotated[str | None, typer.Option(help="Mint for this runner.")] = None,
    operator: Annotated[str | None, typer.Option(help="Mint for this person.")] = None,
    ttl: Annotated[str, typer.Option(help="How long it counts: 90s, 15m, 24h at most.")] = "15m",
    tenant: Annotated[str | None, typer.Option(help="Bind it to one tenant.")] = None,
    incarnation: Annotated[str | None, typer.Option(help="The runner's start; a fresh one if not given.")] = None,
) -> None:
    """Mint a bearer token, on the control host."""
    from streamward.control.keys import load_keyring
    from streamward.control.tokens import TokenMint
    from streamward.model.ids import Incarnation, RunnerId, TenantId, check_id
    from streamward.runtime.clock import SystemClock
    from streamward.settings import load

    if (runner is None) == (operator is None) or (operator is not None and incarnation is not None):
        raise typer.BadParameter("name either --runner (with or without --incarnation) or --operator")
    lifetime = _lifetime(ttl)
    tenant_id = None if tenant is None else TenantId(check_id("tenant", tenant))
    start = None if incarnation is None else Incarnation(check_id("incarnation", incarnation))
    mint = TokenMint(load_keyring(load().key_file), clock=SystemClock())
    if runner is not None:
        print(mint.runner(RunnerId(runner), incarnation=start, tenant_id=tenant_id, lifetime=lifetime))
    if operator is not None:
        print(mint.operator(operator, tenant_id=tenant_id, lifetime=lifetime))


@keys_app.command()
def rotate(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Seal every camera's credential with a new master key, while control planes run.

    Can be cut and run again. Exits with 1 if a credential could not be opened.
    """
    import asyncio
    import json

    from streamward.control.app import rotate_keys
    from streamward.settings import load

    done = asyncio.run(rotate_keys(load()))
    if as_json:
        print(json.dumps({"sealed": done.sealed, "unreadable": list(done.unreadable)}))
    else:
        print(f"sealed {done.sealed} credentials with the newest key")
        for camera_id in done.unreadable:
            print(f"the credential of camera {camera_id} cannot be opened: give it again")
    sys.exit(1 if done.unreadable else 0)


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


@drill_app.command()
def simulate(
    *,
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds to run.")] = 200,
    start: Annotated[int | None, typer.Option(min=0, help="The first seed; a fresh one if not given.")] = None,
    bug: Annotated[
        str | None, typer.Option(help="Plant this bug and stop when it is caught; `list` names them.")
    ] = None,
    with_trace: Annotated[bool, typer.Option("--trace", help="Print all that happened in the first seed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
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


def _lifetime(text: str) -> timedelta:
    found = re.fullmatch(r"([1-9][0-9]{0,5})([smh])", text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a time like 90s, 15m or 2h", param_hint="--ttl")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


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
    is_exposed = not re.search(r"//(127\.|localhost|\[::1\])", address)
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
