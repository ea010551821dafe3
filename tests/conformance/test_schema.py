"""The schema itself, on both databases: forward and back, and what no writer can do to it."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.control.credentials import seal_urls
from streamward.drivers.sql import SqlStore, downgrade, migrate
from streamward.drivers.sql.engine import migration_engine
from streamward.drivers.vault import AesVault
from streamward.leases.lease import MOVES, SessionState
from streamward.model.address_policy import EVERYWHERE
from streamward.model.identity import SYSTEM
from streamward.model.register import AuditFilter, Page
from streamward.runtime.bell import Bell
from tests.support.builders import CAMERA, SITE, a_camera, a_site, a_status, an_owner
from tests.support.fleet import take, with_cameras, with_runners
from tests.support.postgres import PostgresServer
from tests.support.stores import SteppedClock

ONE = an_owner()
OLD_URLS = "UPDATE cameras SET rtsp_url = 'rtsp://ada:hunter2@192.0.2.7/1'"


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def server(request: pytest.FixtureRequest) -> PostgresServer | None:
    return request.getfixturevalue("postgres") if request.param == "postgres" else None


@pytest.fixture
async def url(server: PostgresServer | None, tmp_path: Path) -> AsyncIterator[str]:
    """A database with the newest schema and nothing in it."""
    if server is None:
        await migrate(f"sqlite:///{tmp_path}/test.db")
        yield f"sqlite:///{tmp_path}/test.db"
        return
    name = await server.create()
    yield server.url(name)
    await server.drop(name)


async def test_a_database_file_is_made_for_its_owner_alone_and_keeps_the_permissions_of_its_group(
    tmp_path: Path,
) -> None:
    await migrate(f"sqlite:///{tmp_path}/test.db")
    engine = migration_engine(f"sqlite:///{tmp_path}/test.db")
    async with engine.begin() as connection:
        await connection.execute(text("DELETE FROM cameras"))
        assert {(tmp_path / f"test.db{end}").stat().st_mode & 0o777 for end in ("", "-wal", "-shm")} == {0o600}
    (tmp_path / "test.db").chmod(0o640)
    await engine.dispose()
    async with engine.connect():
        assert (tmp_path / "test.db").stat().st_mode & 0o777 == 0o640
    await engine.dispose()


async def test_a_database_file_that_everybody_could_read_is_closed_to_others(tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path}/test.db")
    engine = migration_engine(f"sqlite:///{tmp_path}/test.db")
    (tmp_path / "test.db").chmod(0o644)
    async with engine.begin() as connection:
        await connection.execute(text("DELETE FROM cameras"))
        assert {(tmp_path / f"test.db{end}").stat().st_mode & 0o007 for end in ("", "-wal", "-shm")} == {0}
    await engine.dispose()


async def test_a_second_connection_leaves_the_locks_of_the_first(tmp_path: Path) -> None:
    """Without its lock on the file, another process that closes it would delete the log that is in use."""
    path = tmp_path / "test.db"
    await migrate(f"sqlite:///{path}")
    first, second = (migration_engine(f"sqlite:///{path}") for _ in range(2))
    lock = f"import fcntl; fcntl.lockf(open({str(path)!r}, 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)"
    async with first.connect() as one:
        await one.execute(text("SELECT 1 FROM cameras"))
        await one.rollback()
        async with second.connect():
            other = await asyncio.create_subprocess_exec(sys.executable, "-c", lock, stderr=asyncio.subprocess.PIPE)
            _, stderr = await other.communicate()
            assert b"BlockingIOError" in stderr
    await first.dispose()
    await second.dispose()


@pytest.fixture(scope="session")
def filled_url(server: PostgresServer | None, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A database with one of everything, for tests that change nothing for good."""
    file = tmp_path_factory.mktemp("schema") / "filled.db"
    url = f"sqlite:///{file}" if server is None else server.url(asyncio.run(server.create("test_filled")))
    asyncio.run(fill(url))
    return url


@pytest.fixture
async def rows(filled_url: str) -> AsyncIterator[AsyncConnection]:
    """Somebody who writes the tables directly; what a test does is never committed."""
    engine = migration_engine(filled_url)
    async with engine.connect() as connection:
        yield connection
    await engine.dispose()


async def fill(url: str) -> None:
    """One of everything."""
    store = SqlStore(url, clock=SteppedClock(), bell=Bell())
    await store.open()
    await store.save_site(a_site())
    await with_cameras(store)
    await with_runners(store, ONE)
    await take(store, ONE)
    await store.record([a_status()])
    await store.save_camera(a_camera("cam-2"))
    await store.close()


async def write(url: str, *changes: str) -> None:
    """What a program of that schema would have written."""
    engine = migration_engine(url)
    async with engine.begin() as connection:
        for change in changes:
            await connection.execute(text(change))
    await engine.dispose()


async def tables(url: str) -> set[str]:
    engine = migration_engine(url)
    async with engine.connect() as connection:
        found = await connection.run_sync(lambda sync: set(sync.dialect.get_table_names(sync)))
    await engine.dispose()
    return found


async def names(rows: AsyncConnection, table: str) -> list[str]:
    return list((await rows.execute(text(f"SELECT * FROM {table} WHERE false"))).keys())


async def test_the_schema_goes_forward_and_back_and_forward(url):
    await fill(url)
    before = await tables(url)
    await downgrade(url)
    await migrate(url)
    await fill(url)
    await migrate(url)
    assert await tables(url) == before > {"cameras", "stream_leases", "audit"}


async def test_going_back_leaves_nothing_behind(url):
    await fill(url)
    await downgrade(url)
    assert await tables(url) == {"alembic_version"}


async def test_a_filled_database_of_the_first_schema_goes_forward_and_back(url):
    await fill(url)
    await downgrade(url, to="0001")
    await write(url, OLD_URLS)
    store = SqlStore(url, clock=SteppedClock(), bell=Bell())
    await store.open()
    assert await seal_urls(store, AesVault(lambda: [bytes(32)])) == 2
    camera = await store.find_camera(CAMERA, scope=None)
    assert camera is not None
    assert (camera.rtsp_url, camera.credential_version, camera.revision) == ("rtsp://192.0.2.7/1", 1, 2)
    site = await store.find_site(SITE, scope=None)
    assert site is not None
    assert site.addresses == EVERYWHERE
    await store.close()
    await downgrade(url, to="0001")


async def test_tenants_are_made_of_those_that_sites_and_cameras_of_the_first_schema_name(url):
    await fill(url)
    await downgrade(url, to="0001")
    await write(url, "UPDATE cameras SET tenant_id = 'siteless', site_id = 'nowhere' WHERE camera_uuid = 'cam-2'")
    await write(url, "INSERT INTO sites (site_id, tenant_id) VALUES ('empty', 'cameraless')")
    store = SqlStore(url, clock=SteppedClock(), bell=Bell())
    await store.open()
    made = [tenant.tenant_id for tenant in await store.tenants(Page(scope=None))]
    await store.close()
    assert made == ["cameraless", "siteless", "tenant-1"]


async def test_what_the_upgrade_seals_is_audited_and_announced_without_its_password(url):
    await fill(url)
    await downgrade(url, to="0001")
    await write(url, OLD_URLS)
    store = SqlStore(url, clock=SteppedClock(), bell=Bell())
    await store.open()
    await seal_urls(store, AesVault(lambda: [bytes(32)]))
    rows = await store.audit(AuditFilter(scope=None))
    told = await store.pending(limit=10)
    await store.close()
    assert [(row.action, row.object_id, row.author) for row in rows] == [
        ("camera.updated", "cam-2", SYSTEM),
        ("camera.updated", CAMERA, SYSTEM),
    ]
    assert {each.routing_key for each in told} == {
        f"camera.updated.tenant-1.site-1.{each}" for each in (CAMERA, "cam-2")
    }
    assert "hunter2" not in repr(rows) + repr(told)
    assert rows[1].after is not None
    assert rows[1].after["rtsp_url"] == "rtsp://***@192.0.2.7/1"


async def test_the_specified_spellings_are_there(rows):
    sessions = "camera_id tenant_id site_id worker_id generation state lease_expires_at reason updated_at"
    assert await names(rows, "camera_sessions") == sessions.split()
    assert {"worker_id", "status", "capacity", "last_seen_at"} <= set(await names(rows, "workers"))
    assert {"caps", "last_probe_at", "last_state_change_at"} <= set(await names(rows, "cameras"))
    budget = {"site_id", "tokens", "capacity", "refill_rate", "updated_at"}
    assert budget <= set(await names(rows, "site_start_budget"))
    status, capacity = (await rows.execute(text("SELECT status, capacity FROM workers"))).one()
    assert status == "REGISTERED"
    assert '"slots"' in str(capacity).replace("'", '"')


@pytest.mark.parametrize(
    "change",
    [
        "generation = generation + 2, granted_at = expires_at",
        "generation = generation - 1, granted_at = expires_at",
        "generation = generation + 1",  # without a later instant
        "generation = generation + 1, granted_at = expires_at, runner_id = NULL, incarnation = NULL",
        "runner_id = 'thief'",
        "incarnation = 'thief'",
        "granted_at = expires_at",
        "runner_id = NULL",  # half an owner
        "state = 'LOST'",
    ],
)
async def test_no_writer_can_break_a_camera_s_generations(rows, change):
    with pytest.raises(DBAPIError):
        await rows.execute(text(f"UPDATE stream_leases SET {change} WHERE camera_uuid = 'cam-1'"))


async def test_a_freed_lease_cannot_be_taken_without_a_grant(rows):
    free = "UPDATE stream_leases SET runner_id = NULL, incarnation = NULL, state = 'PENDING'"
    await rows.execute(text(free))
    with pytest.raises(DBAPIError):
        await rows.execute(text("UPDATE stream_leases SET runner_id = 'r', incarnation = 'i' WHERE generation = 1"))


async def test_a_direct_writer_s_grant_is_noted_too(rows):
    take_over = "generation = generation + 1, granted_at = expires_at, runner_id = 'r', incarnation = 'i'"
    await rows.execute(text(f"UPDATE stream_leases SET {take_over} WHERE camera_uuid = '{CAMERA}'"))
    noted = await rows.execute(text("SELECT generation, runner_id FROM lease_grants ORDER BY generation"))
    assert [tuple(row) for row in noted] == [(1, "runner-1"), (2, "r")]


@pytest.mark.parametrize("to", SessionState)
@pytest.mark.parametrize("state", SessionState)
async def test_states_move_as_the_table_of_moves_says(rows, state, to):
    path = {"PENDING": [], "PAUSED": ["ACTIVE"], "ORPHANED": ["ACTIVE"]}.get(state, [])
    for each in [*path, state]:
        await rows.execute(text(f"UPDATE stream_leases SET state = '{each}' WHERE camera_uuid = 'cam-2'"))
    moved = rows.execute(text(f"UPDATE stream_leases SET state = '{to}' WHERE camera_uuid = 'cam-2'"))
    if to in MOVES[state] or to is state:
        await moved
    else:
        with pytest.raises(DBAPIError):
            await moved


async def test_a_lease_row_cannot_begin_where_history_is_elsewhere(rows):
    await rows.execute(text("DELETE FROM stream_leases"))
    values = f"('{CAMERA}', 'tenant-1', 'site-1')"
    with pytest.raises(DBAPIError):
        await rows.execute(text(f"INSERT INTO stream_leases (camera_uuid, tenant_id, site_id) VALUES {values}"))
