"""How a person on this host finds a runner's HTTP and is let in: by a file that only its user can read."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from streamward.model.secret import Secret
from streamward.runtime import private_file

_SUFFIX = ".local"


@dataclass(frozen=True, slots=True)
class Door:
    """A port on loopback, and what opens it."""

    port: int
    secret: Secret


@contextlib.contextmanager
def opened(folder: Path, name: str, port: int, secret: Secret) -> Iterator[None]:
    """As long as this lasts, the door can be found."""
    path = folder / f"{name}{_SUFFIX}"
    private_file.replace(path, json.dumps({"port": port, "secret": secret.reveal()}).encode())
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def found(folder: Path) -> list[Door]:
    """The doors of this host's runners; some of them may be gone."""
    doors = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        with contextlib.suppress(private_file.KeyFileUnusable, ValueError, KeyError, TypeError):
            read = json.loads(private_file.read(path))
            doors.append(Door(int(read["port"]), Secret(str(read["secret"]))))
    return doors
