"""What commands share on the command line."""

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def group(about: str) -> typer.Typer:
    """The commands of one noun."""
    return typer.Typer(help=about, no_args_is_help=True, rich_markup_mode=None)
