"""The command line: every role and tool of Streamward under one name, one module per noun.

What a command needs is imported inside it: `--help` must be quick, and a role must not load another's libraries.
Help is plain text for the same reason: drawing boxes around it takes longer than all the rest.
"""

import sys

import typer

from streamward import __version__
from streamward.cli import (
    audit,
    batcher,
    batches,
    cameras,
    control,
    detections,
    doctor,
    drill,
    events,
    fleet,
    keys,
    leases,
    login,
    migrate,
    models,
    nvr,
    people,
    runner,
    runners,
    settings,
    sites,
    tenants,
    token,
    up,
    worker,
    zones,
)
from streamward.cli.extras import remedy
from streamward.cli.failure import CommandFailed, ExitCode
from streamward.model.errors import StreamwardError

_EXIT_CODES = """\b
Exit codes:
  0    done
  1    refused or failed
  2    wrong usage
  3    not found
  4    not signed in or not allowed
  5    the control plane cannot be reached
  130  interrupted"""

app = typer.Typer(
    name="streamward",
    help="Keeps exactly one processor on every live camera.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
    pretty_exceptions_enable=False,
)
app.command("up")(up.run)
app.add_typer(fleet.app, name="fleet")
app.command("control")(control.run)
app.command("runner")(runner.run)
app.command("worker")(worker.run)
app.command("batcher")(batcher.run)
app.command("nvr")(nvr.run)
app.command("login")(login.login)
app.command("logout")(login.logout)
app.command("whoami")(login.whoami)
app.command("enrol")(login.enrol)
app.command("token")(token.mint)
app.add_typer(people.app, name="people")
app.add_typer(tenants.app, name="tenants")
app.add_typer(cameras.app, name="cameras")
app.add_typer(sites.app, name="sites")
app.add_typer(runners.app, name="runners")
app.add_typer(leases.app, name="leases")
app.add_typer(models.app, name="models")
app.add_typer(events.app, name="events")
app.add_typer(batches.app, name="batches")
app.add_typer(detections.app, name="detections")
app.add_typer(zones.app, name="zones")
app.add_typer(audit.app, name="audit")
app.command("settings")(settings.show)
app.command("doctor")(doctor.run)
app.command("migrate")(migrate.run)
app.add_typer(keys.app, name="keys")
app.add_typer(drill.app, name="drill")


def main() -> None:
    """The entry of the process: an error of ours is one sentence, not a stack."""
    try:
        app(prog_name="streamward")
    except ModuleNotFoundError as err:
        if err.name is None or err.name.partition(".")[0] == "streamward":
            raise
        _end(f"this command needs {err.name}, which is not installed: {remedy(err.name)}", ExitCode.REFUSED)
    except CommandFailed as err:
        _end(str(err), err.exit_code)
    except StreamwardError as err:
        _end(str(err), ExitCode.REFUSED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def _end(sentence: str, code: ExitCode) -> None:
    print(f"streamward: {sentence}", file=sys.stderr)
    sys.exit(code)
