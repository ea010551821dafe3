"""Which versions of signed models this host has used: an older one is signed as well, and whoever can write to the
folder of models could put it back.

Noted as empty files `NAME.VERSION` in a folder of the host's own: of two Workers that note something at once, neither
undoes what the other did. Not protected: a host that has used none yet, and one whose data folder others can write to.
"""

import contextlib
from pathlib import Path

from streamward.drivers.detectors.refusal import ModelRefused

FOLDER = "used-models"  # in the data folder


def check(folder: Path, name: str, version: int) -> None:
    """Raises ModelRefused if a later version was used here."""
    latest = max(_versions(folder, name), default=version)
    if version < latest:
        raise ModelRefused(
            f"it is version {version}, and {latest} was used on this host before: "
            "`streamward models install --older` takes it all the same"
        )


def note(folder: Path, name: str, version: int) -> None:
    """From now on none that is older is taken; what cannot be written down is not."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / f"{name}.{version}").touch(mode=0o600)
        for older in _versions(folder, name):
            if older < version:
                (folder / f"{name}.{older}").unlink(missing_ok=True)


def forget(folder: Path, name: str, *, above: int) -> None:
    """A person wants that version, though later ones were used."""
    for version in _versions(folder, name):
        if version > above:
            (folder / f"{name}.{version}").unlink(missing_ok=True)


def _versions(folder: Path, name: str) -> list[int]:
    found = (path.name.removeprefix(f"{name}.") for path in folder.glob(f"{name}.*"))
    return [int(version) for version in found if version.isascii() and version.isdigit()]
