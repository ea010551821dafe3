"""Control processes on PostgreSQL: several at once, and a database that goes away and comes back."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.postgres import PostgresServer
from tests.support.processes import control, run

ASKING = {"runner_id": "r1", "camera_uuid": "harbour-1", "ttl_seconds": 60}


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    name = asyncio.run(postgres.create())
    yield name
    asyncio.run(postgres.drop(name))


def test_two_control_planes_share_leases_cursors_and_wake_ups(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    data, url = tmp_path / "data", postgres.url(database)
    with (
        control(data, "--demo", DATABASE_URL=url) as one,
        control(data, DATABASE_URL=url) as two,
        one.client("--runner", "r1") as runner,
        two.client("--runner", "r2") as other,
        ThreadPoolExecutor(1) as pool,
    ):
        cursor = runner.get("/v1/cameras", params={"limit": 5}).json()["next_cursor"]
        assert len(other.get("/v1/cameras", params={"limit": 50, "cursor": cursor}).json()["items"]) == 7
        assert runner.post("/v1/leases/camera/acquire", json=ASKING).status_code == 200
        refused = other.post("/v1/leases/camera/acquire", json=ASKING | {"runner_id": "r2"})
        assert (refused.status_code, refused.json()["reason"]) == (409, "held")
        seen = other.get("/v1/wait", params={"timeout_s": 0}).json()["cursor"]
        waiting = pool.submit(other.get, "/v1/wait", params={"after": seen, "timeout_s": 25})
        runner.post("/v1/leases/camera/release", json={"runner_id": "r1", "camera_uuid": "harbour-1"})
        assert waiting.result().json()["changed"] is True
        taken = other.post("/v1/leases/camera/acquire", json=ASKING | {"runner_id": "r2"})
        assert (taken.status_code, taken.json()["version"]) == (200, 2)


def test_a_control_plane_with_keys_of_its_own_does_not_start_on_the_database_of_others(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    url, first, second = postgres.url(database), tmp_path / "first", tmp_path / "second"
    with control(first, DATABASE_URL=url) as one:
        ended = run("control", data=second, DATABASE_URL=url)
        assert (ended.returncode, "another signing key" in ended.stderr) == (1, True)
        assert "copy the folder `keys`" in ended.stderr
        shutil.copy(first / "keys" / "signing.pem", second / "keys" / "signing.pem")
        ended = run("control", data=second, DATABASE_URL=url)
        assert (ended.returncode, "another master key" in ended.stderr) == (1, True)
        told = run("doctor", "--json", data=second, DATABASE_URL=url)
        [found] = [each for each in map(json.loads, told.stdout.splitlines()) if each["check"] == "keys"]
        assert (found["verdict"], "streamward keys adopt" in found["remedy"]) == ("failed", True)
        shutil.copy(first / "keys" / "master.key", second / "keys" / "master.key")
        with control(second, DATABASE_URL=url), one.client("--admin", "ada") as ada:
            ada.get("/v1/cameras").raise_for_status()
        assert not [
            line for line in run("doctor", data=second, DATABASE_URL=url).stdout.splitlines() if "keys " in line
        ]


def test_a_key_that_was_changed_is_needed_by_every_control_plane_that_starts_then(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    url, first, second = postgres.url(database), tmp_path / "first", tmp_path / "second"
    with control(first, DATABASE_URL=url):
        shutil.copytree(first / "keys", second / "keys")
        for _ in range(2):
            assert run("keys", "rotate-signing", data=first, DATABASE_URL=url).returncode == 0
        assert run("keys", "rotate", data=first, DATABASE_URL=url).returncode == 0
        ended = run("control", data=second, DATABASE_URL=url)
        assert (ended.returncode, "another signing key" in ended.stderr) == (1, True)
    with control(first, DATABASE_URL=url):
        pass
    assert run("keys", "adopt", "--yes", data=second, DATABASE_URL=url).returncode == 0
    with control(second, DATABASE_URL=url):
        ended = run("control", data=first, DATABASE_URL=url)
        assert (ended.returncode, "another signing key" in ended.stderr) == (1, True)


def test_a_database_that_goes_away_is_503_and_comes_back(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    with (
        control(tmp_path / "data", "--demo", DATABASE_URL=postgres.url(database)) as process,
        process.client("--runner", "r1") as runner,
    ):
        assert runner.post("/v1/leases/camera/acquire", json=ASKING).status_code == 200
        with postgres.shut(database):
            away = runner.post("/v1/leases/camera/renew", json=ASKING)
            assert (away.status_code, away.json()["reason"]) == (503, "store-unavailable")
            assert away.headers["retry-after"] == "1"
            assert httpx.get(f"{process.url}/ready", timeout=60).status_code == 503
            assert httpx.get(f"{process.url}/healthz", timeout=60).status_code == 200
        back = runner.post("/v1/leases/camera/renew", json=ASKING | {"version": 1})
        assert (back.status_code, back.json()["version"]) == (200, 1)
        assert process.stop()[0] == 0
