"""Passwords of cameras: from a file, from standard input, or asked for; never from the command line.

What stands on a command line is in the shell's history and in every user's list of processes.
"""

import getpass
import sys
from pathlib import Path
from typing import Annotated

import typer

from streamward.model.secret import MASK, Secret

User = Annotated[str | None, typer.Option("--user", help="User of the camera; its password is asked for.")]
PasswordFile = Annotated[
    Path | None, typer.Option("--password-file", help="File that holds the password; - is standard input.")
]

_LONGEST = 4096  # characters


def read_password(user: str | None, file: Path | None) -> Secret | None:
    """The password that goes with a user."""
    if user is None:
        if file is not None:
            raise typer.BadParameter("a password goes with a user: give --user too", param_hint="--password-file")
        return None
    if file is not None and str(file) != "-":
        return Secret(_line(_content(file)))
    if file is not None and not sys.stdin.isatty():
        return Secret(_line(sys.stdin.read(_LONGEST)))
    if not sys.stdin.isatty():
        raise typer.BadParameter(
            "nobody is here to ask for the password: give --password-file, or - for standard input",
            param_hint="--password-file",
        )
    return Secret(getpass.getpass(f"password of {user}: "))


def check_url(url: str | None, *, may_keep: bool = False) -> str | None:
    """Refuses a URL with a password in it, and does not repeat it."""
    rest = (url or "").partition("://")[2]
    if may_keep:
        rest = rest.removeprefix(f"{MASK}@")
    if "@" in rest:
        raise typer.BadParameter(
            "a URL with user and password stays in the shell's history and shows in the list of processes: give the "
            "URL without them, and --user with --password-file. If the password was a real one, change it",
            param_hint="URL",
        )
    return url


def _content(file: Path) -> str:
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(_LONGEST)
    except (OSError, UnicodeDecodeError) as err:
        why = getattr(err, "strerror", None) or "not UTF-8"
        raise typer.BadParameter(f"{file} cannot be read ({why.lower()})", param_hint="--password-file") from None


def _line(text: str) -> str:
    """Without the one line break that an editor leaves at the end."""
    return text.removesuffix("\n").removesuffix("\r")
