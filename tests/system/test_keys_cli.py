"""Master keys as a person meets them: made at the first start, changed while the control plane runs."""

import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tests.support.processes import ControlProcess, control, run

PASSWORD = "c@n:a/r#y? 100%"
OLD_URL = "rtsp://ada:c%40n%3Aa%2Fr%23y%3F%20100%25@127.0.0.1:8554/harbour-1"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder of the demo fleet, with a password in one URL as an older version had it."""
    folder = tmp_path / "data"
    with control(folder, "--demo") as process:
        process.stop()
    with contextlib.closing(sqlite3.connect(folder / "streamward.db")) as file:
        file.execute("PRAGMA secure_delete = ON")
        file.execute("UPDATE cameras SET rtsp_url = ? WHERE camera_uuid = 'harbour-1'", (OLD_URL,))
        file.commit()
    return folder


def password(process: ControlProcess) -> str | None:
    body = {"runner_id": "r1", "camera_uuid": "harbour-1", "ttl_seconds": 10, "incarnation": "i1"}
    with process.client("--runner", "r1", "--incarnation", "i1") as runner:
        found: str | None = runner.post("/v1/leases/camera/acquire", json=body).json()["source"]["password"]
    return found


def sealed(data: Path) -> str:
    with contextlib.closing(sqlite3.connect(data / "streamward.db")) as file:
        found: str = file.execute("SELECT sealed_credential FROM cameras WHERE camera_uuid = 'harbour-1'").fetchone()[0]
    return found


def test_keys_are_changed_while_the_control_plane_runs(data: Path) -> None:
    with control(data) as process:
        assert password(process) == PASSWORD
        before = sealed(data)
        rotated = run("keys", "rotate", "--json", data=data)
        assert (rotated.returncode, json.loads(rotated.stdout)) == (0, {"sealed": 1, "unreadable": []})
        assert sealed(data).split(".")[1] != before.split(".")[1]
        assert password(process) == PASSWORD
        process.stop()
    left = b"".join(path.read_bytes() for path in [*data.glob("*"), *data.parent.glob("*.log")] if path.is_file())
    assert b"harbour-1" in left
    assert PASSWORD.encode() not in left
    assert b"c%40n" not in left


def test_without_its_key_a_credential_is_told_and_not_delivered(data: Path) -> None:
    with control(data) as process:
        process.stop()
    (data / "keys" / "master.key").unlink()
    refused = run("control", data=data)
    assert (refused.returncode, "another master key" in refused.stderr) == (1, True)
    assert run("keys", "adopt", "--yes", data=data).returncode == 0
    with control(data) as process, process.client("--runner", "r1") as runner:
        body = {"runner_id": "r1", "camera_uuid": "harbour-1", "ttl_seconds": 10}
        assert runner.post("/v1/leases/camera/acquire", json=body).json()["source"] is None
        process.stop()
    rotated = run("keys", "rotate", data=data)
    assert rotated.returncode == 1
    assert "the credential of camera harbour-1 cannot be opened: give it again" in rotated.stdout


def test_a_master_key_that_is_none_is_one_sentence(data: Path) -> None:
    refused = run("control", data=data, MASTER_KEY="hunter2")
    assert refused.returncode == 1
    assert "STREAMWARD_MASTER_KEY must hold 32 bytes in base64" in refused.stderr
    assert "hunter2" not in refused.stderr
