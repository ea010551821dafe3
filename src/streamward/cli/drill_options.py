"""What drills share on the command line."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

Cameras = Annotated[int, typer.Option(min=1, max=256, help="Simulated cameras.")]
Runners = Annotated[int, typer.Option(min=2, max=26, help="Runners, each with room for twice as many cameras.")]
Ttl = Annotated[float, typer.Option(min=3, max=60, help="Seconds that a lease lasts.")]
RenewEvery = Annotated[float, typer.Option(min=0.5, help="Seconds between two renewals.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Of the random moments; a fresh one if not given.")]
Database = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="A PostgreSQL for SQLite, empty; with a login: `setting`, STREAMWARD_DATABASE_URL."
    ),
]
Amqp = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="RabbitMQ for the embedded bus, nobody else's; with a login: `setting`, STREAMWARD_AMQP_URL.",
    ),
]
KeyEvery = Annotated[
    int | None,
    typer.Option(
        min=1, max=10, help="Seconds between keyframes, of which who dials waits for the next; else gets the latest."
    ),
]
Data = Annotated[Path | None, typer.Option(help="Folder that is kept; else a temporary one.")]


class OnControlLoss(StrEnum):
    """What Workers do when the control plane is away for longer than leases last."""

    STOP = "stop"
    CONTINUE_FENCED = "continue-fenced"


def lasting(minutes: float | None, seconds: float | None) -> float:
    """How many seconds, told in one way or the other."""
    if minutes is not None and seconds is not None:
        raise typer.BadParameter("say how long in minutes or in seconds, not both", param_hint="--seconds")
    return seconds if seconds is not None else 60 * (10.0 if minutes is None else minutes)


def database_url(named: str | None) -> str | None:
    """The URL of a PostgreSQL."""
    return _server(named, "--database", "STREAMWARD_DATABASE_URL", lambda settings: settings.database.url)


def broker_url(named: str | None) -> str | None:
    """The URL of a RabbitMQ."""
    return _server(named, "--amqp", "STREAMWARD_AMQP_URL", lambda settings: settings.amqp.url)


def _server(named: str | None, option: str, variable: str, url: Callable[[Any], Any]) -> str | None:
    """A server's URL: as it was named, if that tells no login, or as it is set."""
    if named != "setting":
        if named is not None and "@" in named:
            raise typer.BadParameter(
                "a command line can be read by everybody on this host: "
                f"put a URL with a login into {variable}, and say {option} setting",
                param_hint=option,
            )
        return named
    from streamward.settings import load

    found = url(load())
    if found is None:
        raise typer.BadParameter(f"{variable} is not set", param_hint=option)
    told: str = found.get_secret_value()
    return told
