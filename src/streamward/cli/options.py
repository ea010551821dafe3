"""What commands share on the command line."""

import re
import sys
from datetime import timedelta
from typing import Annotated

import typer

from streamward.cli.failure import CommandFailed

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
IfMatch = Annotated[
    str | None,
    typer.Option("--if-match", metavar="ETAG", help="Change only the state that `show` told; else the present one."),
]
CodeTtl = Annotated[str, typer.Option("--ttl", help="How long the code can be used: 60s to 168h.")]

_UNITS = {"s": 1, "m": 60, "h": 3600}


def lifetime(text: str) -> timedelta:
    """A time as people write it."""
    found = re.fullmatch(r"([1-9][0-9]{0,5})([smh])", text)
    if found is None:
        raise typer.BadParameter(f"{text!r} is not a time like 90s, 15m or 2h", param_hint="--ttl")
    return timedelta(seconds=int(found[1]) * _UNITS[found[2]])


def group(about: str) -> typer.Typer:
    """The commands of one noun."""
    return typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None)


def confirm(question: str, *, is_sure: bool) -> None:
    """Asks a person; where there is none, only `--yes` will do."""
    if is_sure:
        return
    if not sys.stdin.isatty():
        raise typer.BadParameter("nobody is here to ask: say --yes if it is meant", param_hint="--yes")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if input().strip().lower() not in {"y", "yes"}:
        raise CommandFailed("nothing was done")
