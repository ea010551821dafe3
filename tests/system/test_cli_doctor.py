"""`streamward doctor` as a person meets it: before the first start, beside a running control plane, in trouble."""

import contextlib
import json
import sqlite3
import subprocess
from pathlib import Path

from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.processes import control, run
from tests.support.rabbitmq import RabbitServer
from tests.support.redis_server import PrivateRedis


def verdicts(result: subprocess.CompletedProcess[str]) -> dict[str, str]:
    found = [json.loads(line) for line in result.stdout.splitlines()]
    return {each["check"]: each["verdict"] for each in found}


def test_before_the_first_start_nothing_has_failed(tmp_path: Path) -> None:
    looked = run("doctor", data=tmp_path / "data", PORT=free_port())
    assert (looked.returncode, looked.stderr) == (0, "")
    assert "→ start it with `streamward control`" in looked.stdout
    assert looked.stdout.splitlines()[-1].endswith("0 failed, 5 to know about")
    assert not (tmp_path / "data").exists()


def test_beside_a_control_plane_everything_is_in_order(tmp_path: Path) -> None:
    with control(tmp_path / "data", PORT=free_port()) as plane:
        looked = plane.command("doctor", "--json", PORT=plane.url.rpartition(":")[2])
    assert looked.returncode == 0
    assert set(verdicts(looked).values()) == {"ok"}
    assert {"schema", "port", "control plane's clock", "sign-in"} <= verdicts(looked).keys()


def test_what_failed_is_told_with_the_remedy(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with control(data) as plane:
        plane.stop()
    (data / "keys" / "signing.pem").chmod(0o644)
    with contextlib.closing(sqlite3.connect(data / "streamward.db")) as file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
        file.commit()
    looked = run("doctor", data=data, PORT=free_port())
    assert looked.returncode == 1
    assert "failed   schema" in looked.stdout
    assert f"→ chmod 600 {data / 'keys' / 'signing.pem'}" in looked.stdout


def test_postgresql_is_looked_at_with_its_clock(tmp_path: Path, postgres: PostgresServer, database: str) -> None:
    looked = run("doctor", "--json", data=tmp_path / "data", PORT=free_port(), DATABASE_URL=postgres.url(database))
    found = verdicts(looked)
    assert (found["database"], found["schema"], found["database clock"]) == ("ok", "ok", "ok")


def test_a_broker_is_looked_at(tmp_path: Path, rabbitmq: RabbitServer) -> None:
    looked = run("doctor", "--json", data=tmp_path / "data", PORT=free_port(), AMQP_URL=rabbitmq.url())
    assert verdicts(looked)["broker"] == "ok"
    stranger = rabbitmq.url(password="hunter2")
    refused = run("doctor", data=tmp_path / "data", PORT=free_port(), AMQP_URL=stranger)
    assert refused.returncode == 1
    assert "failed   broker" in refused.stdout
    assert "hunter2" not in refused.stdout + refused.stderr


def test_a_redis_is_looked_at(tmp_path: Path, redis_server: PrivateRedis) -> None:
    looked = run("doctor", "--json", data=tmp_path / "data", PORT=free_port(), REDIS_URL=redis_server.url())
    assert verdicts(looked)["Redis"] == "ok"
    refused = run("doctor", data=tmp_path / "data", PORT=free_port(), REDIS_URL=redis_server.url(password="hunter2"))
    assert refused.returncode == 1
    assert "failed   Redis" in refused.stdout
    assert "hunter2" not in refused.stdout + refused.stderr
    assert redis_server.url().rpartition("@")[0].rpartition(":")[2] not in looked.stdout + looked.stderr


def test_settings_that_cannot_be_meant_are_a_finding(tmp_path: Path) -> None:
    looked = run("doctor", data=tmp_path, PORT="http", LEASE_TTL_S="-1")
    assert looked.returncode == 1
    assert looked.stdout.count("failed   settings") == 2
