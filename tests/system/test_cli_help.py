"""Help and shell completion: what a person meets before anything runs."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import COMMAND, run

PROGRAM = """#!/bin/sh
exec {python} -m streamward "$@"
"""
COMPLETE = """
source "$1"
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_streamward_completion streamward
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def nouns() -> list[str]:
    told = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+) ", told.split("Commands:")[1].split("Exit codes:")[0], flags=re.MULTILINE)


def processor_time() -> float:
    """Seconds that child processes have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def completed(folder: Path, words: str) -> list[str]:
    """What bash offers for the last of these words, by the very script that people source."""
    program = folder / "streamward"
    program.write_text(PROGRAM.format(python=sys.executable))
    program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    shown = subprocess.run(
        ["bash", "-c", "streamward --show-completion; :"], env=environment, capture_output=True, text=True, check=True
    )
    (folder / "completion").write_text(shown.stdout)
    offered = subprocess.run(
        ["bash", "-c", COMPLETE.format(words=words), "bash", str(folder / "completion")],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return offered.stdout.split()


def test_help_of_every_noun_is_there_at_once():
    """Generous, and in time of the processor: machines of tests are busy. docs/measured.md has the real figure."""
    for args in ([], *([noun] for noun in nouns())):
        began = processor_time()
        subprocess.run([*COMMAND, *args, "--help"], capture_output=True, check=True)
        assert processor_time() - began < 1.0, args


def test_help_names_the_exit_codes(tmp_path: Path):
    told = run("--help", data=tmp_path / "data").stdout
    assert "5    the control plane cannot be reached" in told
    assert "Usage: streamward " in told


def test_a_wrong_call_is_a_usage_error(tmp_path: Path):
    assert run("no-such-noun", data=tmp_path / "data").returncode == 2


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("streamward dr", ["drill"]),
        ("streamward keys rotate-", ["rotate-signing"]),
        ("streamward token --ru", ["--runner"]),
    ],
)
def test_bash_completes_commands_and_options(tmp_path: Path, words: str, offered: list[str]):
    assert completed(tmp_path, words) == offered


@pytest.mark.parametrize(
    ("shell", "more"), [("complete_zsh", {}), ("complete_fish", {"_TYPER_COMPLETE_FISH_ACTION": "get-args"})]
)
def test_zsh_and_fish_are_answered_too(shell: str, more: dict[str, str]):
    """By the protocol of their scripts: the shells themselves need not be installed."""
    asked = {**os.environ, "_STREAMWARD_COMPLETE": shell, "_TYPER_COMPLETE_ARGS": "streamward dr", **more}
    told = subprocess.run(COMMAND, env=asked, capture_output=True, text=True, check=True).stdout
    assert "drill" in told
    assert "cameras" not in told
