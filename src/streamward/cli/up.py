"""`streamward up`: a whole fleet on this host, to try things on."""

import shlex
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from streamward import __version__
from streamward.cli.failure import ExitCode

_MOST_RUNNERS = 8
_LAST_FIRST = 65_536 - _MOST_RUNNERS  # port of the first runner, such that the others have one
_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SAME_WITHIN = 1.0  # seconds: a terminal tells `make` and us, and `make` tells us too


def run(
    *,
    cameras: Annotated[int, typer.Option(min=1, max=256, help="Simulated cameras.")] = 12,
    runners: Annotated[int, typer.Option(min=1, max=_MOST_RUNNERS, help="Runners.")] = 2,
    data: Annotated[
        Path | None, typer.Option(help="Folder for everything that is kept; without it STREAMWARD_DATA, else `data`.")
    ] = None,
    port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the control plane.")] = None,
    cameras_port: Annotated[int | None, typer.Option(min=1, max=65535, help="RTSP port of the cameras.")] = None,
    faults_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the API that sets the cameras' faults.")
    ] = None,
    batcher_port: Annotated[int | None, typer.Option(min=1, max=65535, help="Port of the batcher's metrics.")] = None,
    runner_metrics_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=_LAST_FIRST, help="Port of the first runner's metrics; the other runners get the next ones."
        ),
    ] = None,
    worker_metrics_port: Annotated[
        int | None,
        typer.Option(min=1, max=_LAST_FIRST, help="The same for the metrics of each runner's Workers."),
    ] = None,
) -> None:
    """Start a control plane, runners, a batcher and simulated cameras on this host, and keep them up.

    On SQLite and a bus in files, or where STREAMWARD_DATABASE_URL and STREAMWARD_AMQP_URL say. Ctrl-C drains
    everything; the next start goes on with what was kept. A port that no option chooses is the usual one, or the next
    that is free.
    """
    from streamward.runtime import core_dumps
    from streamward.settings import load
    from streamward.up.fleet import ChosenPorts, Fleet, FleetSpec, folder

    interrupts = _Interrupts()
    for each in _ENDINGS:
        signal.signal(each, interrupts.heard)
    settings = load()
    if not settings.core_dumps:
        core_dumps.forbid()
    settings = settings if data is None else settings.model_copy(update={"data": data})
    print(f"Streamward {__version__} starts in {settings.data}…", flush=True)
    with folder(settings):
        ports = ChosenPorts(
            control=port,
            cameras=cameras_port,
            faults=faults_port,
            batcher=batcher_port,
            runner_metrics=runner_metrics_port,
            worker_metrics=worker_metrics_port,
        )
        fleet = Fleet(FleetSpec(settings=settings, cameras=cameras, runners=runners, ports=ports), _say)
        try:
            print(_summary(fleet.start(), settings), flush=True)
            fleet.watch()
        except KeyboardInterrupt:
            sys.exit(_drained(fleet, settings))
        finally:
            fleet.kill()


def _drained(fleet: Any, settings: Any) -> ExitCode:
    """Ends everything in good order; interrupted again, at once."""
    print("\ndraining: runners give their cameras back, then batcher, recorder and control plane end…", flush=True)
    try:
        is_well = fleet.end()
    except KeyboardInterrupt:
        print("ended at once: leases that were not given back run out", flush=True)
        return ExitCode.INTERRUPTED
    what = "everything ended" if is_well else "not everything ended in good order: see the logs"
    database = "database, " if settings.database.url is None else ""
    print(f"{what}; kept in {settings.data}: {database}keys, clips and logs.", flush=True)
    print(f"`streamward up` goes on with them; `rm -r {shlex.quote(str(settings.data))}` forgets them.", flush=True)
    return ExitCode.DONE if is_well else ExitCode.REFUSED


def _summary(served: Any, settings: Any) -> str:
    """What a person reads when everything was started."""
    from streamward.model.camera import without_credentials

    bus = settings.amqp.url
    cameras: list[str] = list(served.cameras)
    name = next(iter(served.runners))
    facts = [
        ("API", f"{served.url}/openapi.json"),
        ("database", f"{without_credentials(settings.database_url)} (detections for {settings.retention})"),
        ("bus", f"files in {settings.data}" if bus is None else without_credentials(bus.get_secret_value())),
        ("cameras", f"{served.cameras[cameras[0]]} to {cameras[-1]}"),
        ("faults", f"{served.faults} (docs/nvr.md)"),
        ("runners", ", ".join(f"{runner} (process {process})" for runner, process in served.runners.items())),
        ("batches", f"{served.batches} (docs/batches.md)"),
        ("logs", str(settings.data / "logs")),
    ]
    tries = [
        ("streamward fleet", "who shows which camera, live"),
        ("streamward leases list", "who has which camera"),
        ("streamward events tail", "what they see, as it happens"),
        ("streamward cameras why cam-1", "why one does not run"),
        (f"streamward runners kill {name}", "it dies, others take its cameras, and how long that took"),
    ]
    login = f"streamward login {served.url}"
    broad = max(len(command) for command, _ in tries)
    return "\n".join([
        "",
        *(f"  {fact:<8}  {value}" for fact, value in facts),
        "",
        "Try in another terminal:",
        "",
        *(f"  {line}" for line in _exports(served.url, settings)),
        *(f"  {command:<{broad}}  # {about}" for command, about in tries),
        "",
        *(
            ["Somebody is admin already: there is no code. `streamward people invite NAME --role admin` makes one."]
            if served.code is None
            else ["Sign in as the first admin; the code works once:", "", f"  {login} --code {served.code.reveal()}"]
        ),
        "",
        "Ctrl-C drains everything.",
        "",
    ])


def _exports(url: str, settings: Any) -> list[str]:
    """What another terminal must know, whatever folder it is in."""
    called = Path(sys.argv[0])
    is_found = called.name != "streamward" or shutil.which("streamward")
    lines = [] if is_found else [f"alias streamward={shlex.quote(str(called.absolute()))}"]
    return [
        *lines,
        f"export STREAMWARD_DATA={shlex.quote(str(settings.data.absolute()))}",
        f"export STREAMWARD_CONTROL_URL={url}",
    ]


def _say(news: str) -> None:
    print(news, flush=True)


class _Interrupts:
    """Signals that ask for the end; one that comes at once after the first is the same one by another way."""

    def __init__(self) -> None:
        self._first: float | None = None

    def heard(self, *_: object) -> None:
        now = time.monotonic()
        if self._first is None or now - self._first > _SAME_WITHIN:
            self._first = self._first or now
            raise KeyboardInterrupt
