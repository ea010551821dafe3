"""Commands at a terminal: tables that fit, passwords without echo, questions that can be left."""

from collections.abc import Iterator

import pytest

from tests.support.processes import ControlProcess, control
from tests.support.terminal import at_terminal

LONG = "c" * 64
URL = "rtsp://127.0.0.1:9/Streaming/Channels/101?transportmode=unicast&profile=Profile_1&subtype=main"


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlProcess]:
    with control(tmp_path_factory.mktemp("plane") / "data", "--demo") as process:
        assert process.command("cameras", "add", "harbour", URL, "--id", LONG).returncode == 0
        yield process


@pytest.mark.parametrize("columns", [60, 80, 100, 200])
def test_a_table_fits_the_terminal(plane: ControlProcess, columns: int) -> None:
    code, seen = at_terminal("cameras", "list", data=plane.data, columns=columns, CONTROL_URL=plane.url)
    assert code == 0
    assert max(map(len, seen.splitlines())) <= columns
    assert ("…" in seen) is (columns < 200)
    assert "\x1b" not in seen


def test_a_fleet_is_drawn_within_the_screen_until_ctrl_c(plane: ControlProcess) -> None:
    typed = ("nothing changed hands yet", b"\x03")
    code, seen = at_terminal("fleet", data=plane.data, columns=80, typed=typed, CONTROL_URL=plane.url)
    assert code == 0
    drawn = seen.split("\x1b[H")[1].split("\x1b[J")[0].replace("\x1b[K", "").splitlines()
    assert len(drawn) <= 24
    assert max(map(len, drawn)) <= 80
    assert any(line.startswith("nobody: 0 of ") for line in drawn)
    assert seen.endswith("\x1b[?25h\x1b[?1049lnothing changed hands\n")


def test_a_table_in_a_pipe_is_whole(plane: ControlProcess) -> None:
    assert f"{LONG}  –     harbour   north   yes      {URL}\n" in plane.command("cameras", "list").stdout


def test_a_password_is_asked_for_without_echo(plane: ControlProcess) -> None:
    args = ("cameras", "add", "harbour", "rtsp://127.0.0.1:9/z", "--user", "ada", "--id", "asked")
    typed = ("password of ada: ", b"hunter2\n")
    code, seen = at_terminal(*args, data=plane.data, columns=100, typed=typed, CONTROL_URL=plane.url)
    assert code == 0
    assert "rtsp://***@127.0.0.1:9/z" in seen
    assert "hunter2" not in seen


@pytest.mark.parametrize(("answer", "code"), [(b"n\n", 1), (b"\x03", 130), (b"y\n", 3)])
def test_a_removal_is_asked_about(plane: ControlProcess, answer: bytes, code: int) -> None:
    args = ("cameras", "remove", "nope")
    typed = ("[y/N] ", answer)
    assert at_terminal(*args, data=plane.data, columns=80, typed=typed, CONTROL_URL=plane.url)[0] == code
