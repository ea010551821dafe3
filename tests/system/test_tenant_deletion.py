"""A tenant is deleted on real processes, while its data is everywhere, and its name is used again."""

import asyncio
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.statement import statement
from streamward.protocol.events import BATCHER, DEAD
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from streamward.runtime.spool import Spool
from tests.support.batch_plant import QUICK, batcher
from tests.support.labs import Plant, bus_of, plant, until
from tests.support.postgres import PostgresServer
from tests.support.redis_server import PrivateRedis, contents

TABLES = ("detections", "zone_events", "batches", "analyses", "broadcasts", "logins", "lease_grants", "stream_leases")
Servers = tuple[PostgresServer, PrivateRedis] | None
IF_MATCH = {"If-Match": "*"}

soon = partial(until, within=180.0)


@pytest.fixture(scope="session", params=["sqlite", "postgres and redis"])
def servers(request: pytest.FixtureRequest) -> Servers:
    """The servers that all processes share; they live as long as the session. None: files."""
    if request.param == "sqlite":
        return None
    return request.getfixturevalue("postgres"), request.getfixturevalue("redis_server")


@pytest.fixture
def settings(servers: Servers) -> Iterator[dict[str, str]]:
    if servers is None:
        yield {}
        return
    postgres, redis = servers
    name = asyncio.run(postgres.create())
    yield {"DATABASE_URL": postgres.url(name), "REDIS_URL": redis.url()}
    asyncio.run(postgres.drop(name))


@pytest.fixture
def lab(tmp_path: Path, settings: dict[str, str]) -> Iterator[Plant]:
    with plant(tmp_path, "--cameras", "2", "--width", "320", "--height", "180", **settings) as made:
        yield made


def items(client: httpx.Client, name: str) -> list[Any]:
    found: list[Any] = client.get(f"/v1/{name}").raise_for_status().json()["items"]
    return found


def delete_tenant(lab: Plant, admin: httpx.Client) -> None:
    """Cameras, site and tenant."""
    for camera in lab.cameras:
        admin.delete(f"/v1/cameras/{camera}", headers=IF_MATCH).raise_for_status()
    admin.delete("/v1/sites/site-1", headers=IF_MATCH).raise_for_status()
    assert admin.delete("/v1/tenants/acme", headers=IF_MATCH).status_code == 202


async def rows(lab: Plant, settings: dict[str, str]) -> dict[str, int]:
    """How many rows name the tenant."""
    url = settings.get("DATABASE_URL", f"sqlite:///{lab.data}/streamward.db")
    database = Database(url, clock=SystemClock(), bell=Bell())
    try:
        async with database.transaction() as tx:
            counted = {}
            for table in TABLES:
                sql = statement(f"SELECT count(*) AS count FROM {table} WHERE tenant_id = 'acme'", returns="count")
                counted[table] = (await tx.execute(sql)).scalar_one()
            return counted
    finally:
        await database.engine.dispose()


async def open_batches(servers: Servers) -> list[str]:
    """The tenant's keys in Redis."""
    if servers is None:
        return []
    async with servers[1].client() as redis:
        return list(await contents(redis, "{acme}:"))


async def waiting(lab: Plant) -> dict[str, int]:
    async with bus_of(lab) as bus:
        await bus.declare(DEAD)
        return {queue.name: await bus.waiting(queue.name) for queue in (BATCHER, DEAD)}


def test_nothing_of_a_deleted_tenant_is_left_and_the_next_one_of_its_name_starts_empty(
    lab: Plant, settings: dict[str, str], servers: Servers
) -> None:
    admin, early = lab.control.client("--admin", "root"), lab.control.client("--viewer", "ada", "--tenant", "acme")
    with admin, early, lab.runner("runner-a", **settings):
        with batcher(lab.data, **QUICK, **settings):
            soon(lambda: min(len(items(early, name)) for name in ("detections", "batches", "analyses")) > 0)
        orphan = Spool(lab.data / "spool" / "runner-a" / "acme" / "shard-9.dead", most_bytes=1 << 20)
        orphan.append(b"content")
        orphan.close()
        before = asyncio.run(waiting(lab))[BATCHER.name]
        soon(lambda: asyncio.run(waiting(lab))[BATCHER.name] > before)  # a backlog that no batcher has read
        delete_tenant(lab, admin)
        refused = early.get("/v1/detections")
        assert (refused.status_code, refused.json()["reason"]) == (401, "token-tenant-gone")
        assert admin.post("/v1/tenants", json={"tenant_id": "acme"}).json()["reason"] == "tenant-deleting"
        soon(lambda: deletion(admin)["waiting_for"] == "payloads")
        with batcher(lab.data, **QUICK, **settings):
            soon(lambda: deletion(admin)["state"] == "gone")
            soon(lambda: asyncio.run(waiting(lab)) == {BATCHER.name: 0, DEAD.name: 0})
            soon(lambda: not (lab.data / "spool" / "runner-a" / "acme").exists())
            assert asyncio.run(rows(lab, settings)) == dict.fromkeys(TABLES, 0)
            assert asyncio.run(open_batches(servers)) == []
            lab.furnish()
            with lab.control.client("--viewer", "ada", "--tenant", "acme") as viewer:
                first = items(viewer, "detections")
                soon(lambda: len(items(viewer, "batches")) > 0)
                made = [*first, *items(viewer, "detections")]
                assert {each["camera_uuid"] for each in made} <= set(lab.cameras)
                assert min(each["made_at"] for each in made) > deletion(admin)["finished_at"]
            assert early.get("/v1/detections").json()["reason"] == "token-tenant-gone"


def deletion(admin: httpx.Client) -> dict[str, Any]:
    told: dict[str, Any] = admin.get("/v1/tenants/acme/deletion").raise_for_status().json()
    return told
