"""What a person reads when a command cannot be done, and what a script sees: one sentence, one exit code."""

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from streamward.control.keys import load_keyring
from streamward.control.tokens import TokenMint
from tests.support.clocks import ManualClock
from tests.support.processes import ControlProcess, control, environment, run

PASSWORD = "hunter2"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlProcess]:
    with control(tmp_path_factory.mktemp("plane") / "data", "--demo") as process:
        yield process


def sentence(result: subprocess.CompletedProcess[str], code: int) -> str:
    assert (result.returncode, result.stdout) == (code, "")
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.strip().splitlines()
    return line


def test_a_control_plane_away_is_told_with_its_address(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    said = sentence(run("cameras", "list", data=tmp_path / "data", CONTROL_URL=url, TOKEN="t"), 5)
    assert f"no control plane answers at {url}" in said
    assert "streamward control" in said


@pytest.mark.parametrize(("module", "args", "extra"), [("av", ["nvr"], "vision"), ("uvicorn", ["control"], "control")])
def test_a_library_that_is_not_installed_is_told_with_its_extra(
    tmp_path: Path, module: str, args: list[str], extra: str
) -> None:
    without = f"import sys; sys.modules[{module!r}] = None; from streamward.cli import main; main()"
    command = [sys.executable, "-c", without, *args]
    result = subprocess.run(
        command, env=environment(tmp_path / "data"), capture_output=True, text=True, timeout=60, check=False
    )
    assert sentence(result, 1).endswith(f"needs {module}, which is not installed: install streamward[{extra}]")


def test_without_a_token_and_away_from_the_key_one_is_not_signed_in(plane: ControlProcess, tmp_path: Path) -> None:
    said = sentence(plane.command("runners", "list", DATA=tmp_path / "elsewhere"), 4)
    assert "not signed in" in said


def test_an_expired_token_is_told_with_the_remedy(plane: ControlProcess) -> None:
    clock = ManualClock(datetime.now(UTC) - timedelta(hours=1))
    old = TokenMint(load_keyring(plane.data / "keys" / "signing.pem"), clock=clock).person("ada")
    assert "the token has expired: sign in" in sentence(plane.command("runners", "list", TOKEN=old), 4)


def test_a_runners_token_does_not_steer_runners(plane: ControlProcess) -> None:
    said = sentence(plane.command("runners", "list", TOKEN=plane.token("--runner", "r1")), 4)
    assert "this needs the token of a viewer, operator or admin" in said


@pytest.mark.parametrize(
    "args",
    [
        ("cameras", "show", "nope"),
        ("cameras", "why", "nope"),
        ("cameras", "set", "nope", "--disabled"),
        ("cameras", "remove", "nope", "--yes"),
        ("cameras", "add", "nope", "rtsp://192.0.2.1/"),
        ("sites", "show", "nope"),
        ("sites", "set", "nope", "--rate", "1"),
        ("runners", "show", "nope"),
        ("runners", "cordon", "nope"),
        ("leases", "reclaim", "nope"),
    ],
)
def test_what_is_not_there_is_not_found(plane: ControlProcess, args: tuple[str, ...]) -> None:
    assert "there is no such" in sentence(plane.command(*args), 3)


def test_an_edit_of_an_old_state_is_refused(plane: ControlProcess) -> None:
    before = json.loads(plane.command("cameras", "show", "depot-1", "--json").stdout)["etag"]
    assert plane.command("cameras", "set", "depot-1", "--disabled", "--if-match", before).returncode == 0
    late = plane.command("cameras", "set", "depot-1", "--enabled", "--if-match", before)
    assert "somebody else changed it meanwhile, and nothing was done" in sentence(late, 1)


@pytest.mark.parametrize(
    "args",
    [
        ("cameras", "add", "depot", f"rtsp://ada:{PASSWORD}@192.0.2.1/"),
        ("cameras", "add", "depot", f"rtsp://ada:x/{PASSWORD}@192.0.2.1/"),
        ("cameras", "set", "depot-1", "--url", f"rtsp://ada:{PASSWORD}@192.0.2.1/"),
    ],
)
def test_a_url_with_a_password_is_refused_and_not_repeated(plane: ControlProcess, args: tuple[str, ...]) -> None:
    refused = plane.command(*args)
    assert refused.returncode == 2
    assert "--password-file" in refused.stderr
    assert PASSWORD not in refused.stdout + refused.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("cameras", "add", "depot", "rtsp://192.0.2.1/", "--user", "ada"),
        ("cameras", "add", "depot", "rtsp://192.0.2.1/", "--password-file", "-"),
        ("cameras", "add", "depot", "rtsp://192.0.2.1/", "--user", "ada", "--password-file", "no-such-file"),
        ("cameras", "set", "depot-1"),
        ("cameras", "remove", "depot-1"),
        ("sites", "set", "depot"),
        ("runners", "drain", "r1", "gently"),
        ("runners", "set", "r1", "--capacity", "-1"),
    ],
)
def test_a_wrong_call_is_a_usage_error(plane: ControlProcess, args: tuple[str, ...]) -> None:
    refused = plane.command(*args)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "Traceback" not in refused.stderr


def test_what_the_control_plane_refuses_is_said_in_its_words(plane: ControlProcess) -> None:
    refused = plane.command("sites", "add", "depot", "--tenant", "north")
    assert "there is a site of that id" in sentence(refused, 1)
