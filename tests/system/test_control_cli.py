"""The command line as a person meets it: quick help, and one clear sentence when something is wrong."""

import contextlib
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from streamward.control.keys import make_key
from tests.support.processes import control, run


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def sentence(result: subprocess.CompletedProcess[str]) -> str:
    """What a failed command said: one line, no stack."""
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    (line,) = result.stderr.strip().splitlines()
    return line


def test_a_port_in_use_is_one_sentence(data: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = sentence(run("control", data=data, PORT=port))
    assert said == (
        f"streamward: cannot listen on 127.0.0.1 port {port} (address already in use): "
        "set STREAMWARD_HOST or STREAMWARD_PORT"
    )


@pytest.mark.parametrize("role", ["control", "runner", "batcher", "nvr"])
def test_a_ready_descriptor_that_is_not_open_is_wrong_usage(data: Path, role: str) -> None:
    refused = run(role, "--ready-fd", "999", data=data)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "999 is no open descriptor" in refused.stderr


def test_a_host_that_is_not_this_machines_is_one_sentence(data: Path) -> None:
    assert "cannot listen on 192.0.2.1" in sentence(run("control", data=data, HOST="192.0.2.1"))


def test_a_data_folder_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = sentence(run("control", data=tmp_path / "file" / "data"))
    assert "cannot use the data folder" in said
    assert "STREAMWARD_DATA" in said


def test_settings_that_contradict_each_other_are_refused_by_name(data: Path) -> None:
    said = sentence(run("control", data=data, LEASE_TTL_S=4, LEASE_RENEW_INTERVAL_S=2))
    assert "STREAMWARD_LEASE_TTL_S and STREAMWARD_LEASE_RENEW_INTERVAL_S contradict each other" in said
    assert not data.exists()


def test_a_database_that_does_not_answer_is_one_sentence_without_its_password(data: Path) -> None:
    said = sentence(run("control", data=data, DATABASE_URL="postgresql://u:hunter2@127.0.0.1:1/x"))
    assert "the database postgresql://***@127.0.0.1:1/x does not answer" in said


@pytest.mark.parametrize("url", ["sqlite:///nowhere/x.db", "sqlite:///:memory:", "sqlite:///not-a-database"])
def test_a_sqlite_file_that_cannot_be_is_one_sentence(data: Path, url: str) -> None:
    (data.parent / "not-a-database").write_text("certainly not a database " * 100)
    assert "STREAMWARD_DATABASE_URL" in sentence(run("control", data=data, DATABASE_URL=url))


def test_a_database_of_a_newer_version_is_one_sentence(data: Path) -> None:
    with control(data) as process:
        process.stop()
    with contextlib.closing(sqlite3.connect(data / "streamward.db")) as file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
        file.commit()
    assert "the database has schema 9999, which this version does not know" in sentence(run("control", data=data))


def test_a_sqlite_file_takes_one_control_plane(data: Path) -> None:
    with control(data) as first:
        said = sentence(run("control", data=data))
        assert f"another control plane (process {first.process.pid}) uses the SQLite database" in said
        assert "STREAMWARD_DATABASE_URL" in said


def test_a_key_file_that_others_can_read_is_refused(data: Path) -> None:
    key = data / "keys" / "signing.pem"
    make_key(key)
    key.chmod(0o640)
    assert "can be read by others" in sentence(run("control", data=data))
    assert "can be read by others" in sentence(run("token", "--runner", "r1", data=data))


def test_a_token_needs_the_control_hosts_key(data: Path) -> None:
    assert "run `streamward control` once" in sentence(run("token", "--runner", "r1", data=data))


@pytest.mark.parametrize(
    "args",
    [
        ("--runner", "r1", "--operator", "ada"),
        ("--operator", "ada", "--incarnation", "i1"),
        ("--runner", "r1", "--ttl", "soon"),
    ],
)
def test_a_wrong_call_of_token_is_a_usage_error(data: Path, args: tuple[str, ...]) -> None:
    assert run("token", *args, data=data).returncode == 2


@pytest.mark.parametrize(
    ("args", "said"), [(("--runner", "a.b"), "runner must be"), (("--operator", "a", "--ttl", "25h"), "lifetime")]
)
def test_a_token_that_nobody_would_accept_is_not_minted(data: Path, args: tuple[str, ...], said: str) -> None:
    make_key(data / "keys" / "signing.pem")
    assert said in sentence(run("token", *args, data=data))


def test_the_demo_fleet_is_added_once(data: Path) -> None:
    for _ in range(2):
        with control(data, "--demo") as process, process.client("--operator", "ada") as operator:
            cameras = operator.get("/v1/cameras").json()["items"]
            assert len(cameras) == 12
            assert len({camera["site_id"] for camera in cameras}) == 3
            assert len({camera["tenant_id"] for camera in cameras}) == 2
            first = {camera["updated_at"] for camera in cameras}
            process.stop()
    assert first == {camera["updated_at"] for camera in cameras}


def test_the_welcome_tells_what_to_try(data: Path) -> None:
    with control(data, "--demo") as process:
        code, _ = process.stop()
    assert code == 0
    assert f"STREAMWARD_DATA={data} streamward token --runner r1" in process.said
    assert f"{process.url}/v1/cameras" in process.said
    assert f"login {process.url} --code {process.code}\n" in process.said


def test_help_loads_nothing_heavy() -> None:
    heavy = "{'fastapi', 'sqlalchemy', 'pydantic', 'jwt', 'uvicorn', 'prometheus_client', 'asyncio', 'msgspec'}"
    code = f"import sys, streamward.cli; print(sorted({heavy} & set(sys.modules)))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_version_is_told(data: Path) -> None:
    assert run("version", data=data).stdout.strip().count(".") == 2
