"""What `streamward cameras clip` says when a runner of this host has no clip to give."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from streamward.model.secret import Secret
from streamward.runtime import local_door
from tests.support.processes import run


@contextmanager
def a_runner(
    data: Path, status: int, body: bytes, *, name: str = "runner-a", headers: dict[str, str] | None = None
) -> Iterator[None]:
    """One whose answer is always the same."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for each, value in (headers or {}).items():
                self.send_header(each, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        data.mkdir(mode=0o700, exist_ok=True)
        with local_door.opened(data, name, server.server_port, Secret("s")):
            yield
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("status", "body", "code", "told"),
    [
        (404, b"{}", 3, "cannot be shown here: its runner has nothing of it."),
        (503, b'{"error": "too many clips at once"}', 1, "cannot be shown: too many clips at once"),
        (401, b"{}", 3, "cannot be shown here: its runner does not answer."),
        (422, b"what?", 1, "cannot be shown: its runner cannot say why"),
    ],
)
def test_a_runner_that_gives_nothing_is_told_in_its_own_words(
    tmp_path: Path, status: int, body: bytes, code: int, told: str
) -> None:
    with a_runner(tmp_path / "data", status, body):
        said = run("cameras", "clip", "cam-1", "--out", str(tmp_path / "clip.mp4"), data=tmp_path / "data")
    assert told in said.stderr
    assert said.returncode == code
    assert not (tmp_path / "clip.mp4").exists()


@pytest.mark.parametrize("command", ["clip", "snapshot"])
def test_the_file_to_write_is_named_as_an_argument_or_as_an_option(tmp_path: Path, command: str) -> None:
    data, named = tmp_path / "data", tmp_path / "named"
    with a_runner(data, 200, b"content"):
        for words in ([str(named)], ["--out", str(named)], ["-o", str(named)]):
            assert run("cameras", command, "cam-1", *words, data=data).returncode == 0
            assert named.read_bytes() == b"content"
            named.unlink()
        for words in ([], [str(named), "--out", str(named)]):
            refused = run("cameras", command, "cam-1", *words, data=data)
            assert refused.returncode == 2
            assert "name the file to write once" in refused.stderr
    assert not named.exists()


@pytest.mark.parametrize("stale", [401, 403])
def test_a_door_that_a_runner_left_behind_is_passed_by(tmp_path: Path, stale: int) -> None:
    data, clip = tmp_path / "data", tmp_path / "clip.mp4"
    with a_runner(data, stale, b"{}"), a_runner(data, 200, b"moov", name="runner-b"):
        assert run("cameras", "clip", "cam-1", "--out", str(clip), data=data).returncode == 0
    assert clip.read_bytes() == b"moov"


def test_a_runner_that_has_nothing_is_told_also_if_another_lets_nobody_in(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with a_runner(data, 404, b"{}"), a_runner(data, 401, b"{}", name="runner-b"):
        said = run("cameras", "clip", "cam-1", "--out", str(tmp_path / "clip.mp4"), data=data)
    assert "its runner has nothing of it." in said.stderr


@pytest.mark.parametrize(("asked", "is_shorter"), [("30", True), ("17", False)])
def test_the_length_of_a_clip_is_told_and_the_limit_if_it_is_shorter(
    tmp_path: Path, asked: str, is_shorter: bool
) -> None:
    data, clip = tmp_path / "data", tmp_path / "clip.mp4"
    with a_runner(data, 200, b"moov", headers={"Clip-Seconds": "17.6", "Clip-Limit": "30 s and 4 MiB"}):
        said = run("cameras", "clip", "cam-1", str(clip), "--seconds", asked, data=data)
    assert said.stdout == f"{clip}: 17.6 s, 4 bytes\n"
    assert ("it keeps at most 30 s and 4 MiB of a camera" in said.stderr) is is_shorter
