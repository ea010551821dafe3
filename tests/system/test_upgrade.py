"""The first start of this version on what the first version left: its schema, and passwords in URLs."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from streamward.drivers.sql import downgrade
from streamward.drivers.sql.engine import migration_engine
from tests.support.postgres import PostgresServer
from tests.support.processes import control

OLD_URLS = "UPDATE cameras SET rtsp_url = 'rtsp://ada:hunter2@127.0.0.1:8554/' || camera_uuid WHERE site_id = 'depot'"


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest) -> PostgresServer | None:
    return request.getfixturevalue("postgres") if request.param == "postgres" else None


@pytest.fixture
def url(server: PostgresServer | None, tmp_path: Path) -> Iterator[str]:
    if server is None:
        yield f"sqlite:///{tmp_path}/old.db"
        return
    name = asyncio.run(server.create())
    yield server.url(name)
    asyncio.run(server.drop(name))


async def as_the_first_version_left_it(url: str) -> None:
    await downgrade(url, to="0001")
    engine = migration_engine(url)
    async with engine.begin() as connection:
        await connection.execute(text(OLD_URLS))
    await engine.dispose()


def test_the_first_start_seals_audits_and_goes_on(url: str, tmp_path: Path) -> None:
    with control(tmp_path / "data", "--demo", DATABASE_URL=url) as plane:
        plane.stop()
    asyncio.run(as_the_first_version_left_it(url))
    with control(tmp_path / "data", DATABASE_URL=url) as plane, plane.client("--runner", "r1") as runner:
        assert plane.code is not None  # nobody is admin yet
        assert json.loads(plane.command("cameras", "show", "depot-1", "--json").stdout)["credential_version"] == 1
        assert {line.split()[0] for line in plane.command("tenants", "list").stdout.splitlines()[1:]} == {
            "north",
            "south",
        }
        audited = [json.loads(line) for line in plane.command("audit", "list", "--json").stdout.splitlines()]
        sealed = [each["object_id"] for each in audited if each["action"] == "camera.updated"]
        assert sorted(sealed) == [f"depot-{number}" for number in range(1, 5)]
        body = {"runner_id": "r1", "camera_uuid": "depot-1", "ttl_seconds": 10}
        assert runner.post("/v1/leases/camera/acquire", json=body).json()["source"]["password"] == "hunter2"
        assert "hunter2" not in json.dumps(audited) + plane.command("cameras", "list").stdout
    if url.startswith("sqlite:"):
        assert not any(b"hunter2" in file.read_bytes() for file in tmp_path.glob("old.db*"))
