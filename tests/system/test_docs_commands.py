"""The commands of README and docs that end by themselves do what the page says: each is run on a control plane."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.source import ROOT
from tests.support.certificates import Authority
from tests.support.docs_commands import commands, resolve, words
from tests.support.processes import ControlProcess, control

# What is not run here, by its first words, and a test that runs it.
ELSEWHERE = {
    "batcher": "test_batcher_process",
    "batches show": "test_events",
    "cameras clip": "test_cli_footage",
    "cameras snapshot": "test_cli_footage",
    "control": "test_control_process",
    "drill": "test_takeover_drill",
    "enrol": "test_identities",
    "events tail": "test_events",
    "fleet": "test_cli_terminal",
    "keys adopt": "test_control_postgres",
    "login": "test_identities",
    "logout": "test_identities",
    "models": "test_models_cli",
    "nvr": "test_nvr_process",
    "runner": "test_runner_process",
    "runners kill": "test_up",
    "runners rollout": "test_rollout",
    "tenants deletion": "test_cli_commands",
    "tenants remove": "test_cli_commands",
    "token": "test_identities",
    "up": "test_up",
    "worker": "test_worker_process",
}
PRINT = ":".join(["3F"] * 32)
STANDS_FOR = {"CAMERA": "cam-1", "RUNNER": "host-1", "SITE": "yard", "3F:9A:…": PRINT, "r1": "r9"}
BEFORE, AFTER = ("tenants add", "sites add", "cameras add", "cameras export"), ("people", "runners revoke")
SOURCE = "rtsp://10.20.0.7/live"


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlProcess]:
    with control(tmp_path / "data") as process:
        yield process


def ordered() -> list[list[str]]:
    """The arguments of each command once: what others need first, and last what removes it."""
    found = {tuple(words(line)) for _, line in commands() if " … " not in line and resolve(words(line))}
    return [list(each) for each in sorted(found, key=lambda each: (rank(" ".join(each)), each))]


def rank(line: str) -> int:
    first = next((place for place, start in enumerate(BEFORE) if line.startswith(start)), len(BEFORE))
    return first + line.startswith(AFTER)


def named(start: str, line: str) -> bool:
    return line == start or line.startswith(f"{start} ")


def prepare(plane: ControlProcess, folder: Path) -> dict[str, str]:
    """Makes what pages take for granted; what stands for names that are only known then."""
    assert plane.command("tenants", "add", "t-01").returncode == 0
    for runner in ("host-1", "host-2"):
        with plane.client("--runner", runner, "--incarnation", "i1") as client:
            client.post("/v1/runners/register", json={"runner_id": runner, "incarnation": "i1"}).raise_for_status()
    (folder / "zones.json").write_text("[]")
    (folder / "north-ca.pem").write_bytes(Authority(folder).file.read_bytes())
    return {"FILE": str(folder / "cameras.csv")}


def settle(plane: ControlProcess) -> None:
    """After the page's own tenant, site and camera: those of other pages."""
    assert plane.command("sites", "add", "north", "--tenant", "north", "--allow", "10.20.0.0/16").returncode == 0
    for camera in ("cam-1", "door"):
        source = SOURCE.replace("rtsp", "rtsps") if camera == "door" else SOURCE
        assert plane.command("cameras", "add", "yard", source, "--id", camera, "--name", camera).returncode == 0


def a_person(plane: ControlProcess, folder: Path, place: int) -> str:
    """The id of somebody who has signed in."""
    invited = plane.command("people", "invite", f"p{place}", "--role", "operator", "--tenant", "north")
    code = re.search(r"--code (\S+)", invited.stdout)
    assert code is not None, invited
    signed = plane.command("login", plane.url, "--code", code[1], IDENTITY=folder / f"p{place}.json")
    assert signed.returncode == 0, signed
    listed = plane.command("people", "list").stdout.splitlines()
    return next(line.split()[0] for line in listed if f"p{place}" in line.split())


def an_invitation(plane: ControlProcess) -> str:
    plane.command("people", "invite", "late", "--role", "viewer", "--tenant", "north")
    return next(
        line.split()[0] for line in plane.command("people", "invitations").stdout.splitlines() if "late" in line
    )


def test_every_command_of_a_page_that_ends_does_so_without_an_error(plane: ControlProcess, tmp_path: Path) -> None:
    stands_for = STANDS_FOR | prepare(plane, tmp_path)
    failed, is_settled, count = [], False, 0
    for place, arguments in enumerate(ordered()):
        line = " ".join(arguments)
        if any(named(start, line) for start in ELSEWHERE):
            continue
        if rank(line) >= BEFORE.index("cameras export") and not is_settled:
            settle(plane)
            is_settled = True
        if "ID" in arguments:
            is_invitation = "cancel" in arguments
            stands_for["ID"] = an_invitation(plane) if is_invitation else a_person(plane, tmp_path, place)
        typed = ["--password-file", "-"] if "--user" in arguments else ["--yes"] if "revoke" in arguments else []
        ended = plane.command(*(stands_for.get(word, word) for word in arguments), *typed, typed="secret\n")
        count += 1
        if ended.returncode:
            failed.append((line, ended.returncode, ended.stderr))
    assert not failed, failed
    assert count > 50


def test_what_is_run_elsewhere_is_on_a_page_and_in_that_test_module() -> None:
    for start, module in ELSEWHERE.items():
        assert any(named(start, " ".join(words(line))) for _, line in commands()), start
        assert start.split()[-1] in (ROOT / "tests" / "system" / f"{module}.py").read_text(), start
