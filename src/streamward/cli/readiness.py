"""`--ready-fd`: a role reports to its starter that it serves, by one line of JSON (`protocol/readiness.py`)."""

import contextlib
import os
from typing import Annotated, Any

import typer

_FIRST = 3  # below are standard input, output and error


def _checked(descriptor: int | None) -> int | None:
    """Refuses a number that is no open descriptor before the role starts; processes of the role do not inherit it."""
    if descriptor is not None:
        try:
            os.set_inheritable(descriptor, False)
        except OSError as error:
            raise typer.BadParameter(f"{descriptor} is no open descriptor") from error
    return descriptor


ReadyFd = Annotated[int | None, typer.Option("--ready-fd", hidden=True, min=_FIRST, callback=_checked)]


def report(descriptor: int | None, message: Any) -> None:
    """Sends the message and closes the descriptor; a starter that has ended does not end the role."""
    from streamward.protocol.codec import encode

    if descriptor is None:
        return
    with contextlib.suppress(BrokenPipeError), open(descriptor, "wb", buffering=0) as pipe:  # noqa: PTH123 - a number
        pipe.write(encode(message) + b"\n")
