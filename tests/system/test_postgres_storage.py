"""What renewals do to the tables, and what each role may do, on a real PostgreSQL."""

import asyncio
from dataclasses import replace
from importlib import resources
from pathlib import Path

import asyncpg
import pytest

from streamward.drivers.sql import Database, SqlInsight, SqlStore
from streamward.drivers.sql.migrate import SchemaBehind, downgrade, newest
from streamward.insight.rules import Rules
from streamward.leases.login_talk import CameraLogin, LoginTalk
from streamward.leases.logins import LoginId
from streamward.leases.store import Named
from streamward.model.camera import UNDATED
from streamward.model.ids import TenantId
from streamward.model.register import Edit, Edited
from streamward.model.tenant import DeletionStage, Tenant
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from tests.support.broadcasts import broadcast
from tests.support.builders import a_camera, a_site, an_owner
from tests.support.fleet import ADA, remove_camera, renew, take, with_cameras, with_runners
from tests.support.postgres import PostgresServer
from tests.support.processes import run
from tests.support.sightings import a_batch_id, a_sealed, a_seen
from tests.support.stores import batchers, control_planes

PREVIOUS = f"{int(newest()) - 1:04}"
ONE = an_owner()
SEEING = an_owner("runner-7")
CAMERAS = tuple(f"cam-{number}" for number in range(40))
SIZE = "SELECT pg_total_relation_size('stream_leases')"
UPDATES = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'stream_leases'"
PLANS = "SELECT custom_plans FROM pg_prepared_statements WHERE statement LIKE 'WITH%UPDATE stream_leases%'"
MANY = (
    "INSERT INTO runners (runner_id, policy, capacity_streams, last_seen_at)"
    " SELECT 'r-' || i, 'fast', 40, now() FROM generate_series(1, 500) AS i;"
    "INSERT INTO stream_leases (camera_uuid, tenant_id, site_id, generation, runner_id, incarnation, state, ttl,"
    " granted_at, expires_at) SELECT 'many-' || i, 't', 's', 1, 'r-' || i % 500, 'i', 'ACTIVE', 600,"
    " now(), now() + interval '600 s' FROM generate_series(1, 20000) AS i"
)
GRANT = "generation = l.generation + 1, granted_at = clock_timestamp(), runner_id = 'r', incarnation = 'i'"


@pytest.fixture
async def superuser(postgres: PostgresServer, database: str):
    connection = await asyncpg.connect(postgres.url(database))
    yield connection
    await connection.close()


async def test_renewals_touch_no_index_and_the_table_does_not_grow(
    postgres: PostgresServer, database: str, superuser: asyncpg.Connection
):
    async with control_planes(postgres.url(database)) as [store]:
        await with_cameras(store, *CAMERAS)
        await with_runners(store, ONE)
        leases = [await take(store, ONE, camera_id) for camera_id in CAMERAS]
        for _ in range(20):  # the first renewals fill the space that pages keep for updates
            await renew(store, ONE, *leases)
        await superuser.execute("SELECT pg_stat_reset()")
        before = await superuser.fetchval(SIZE)
        for _ in range(200):
            await renew(store, ONE, *leases)
        assert await superuser.fetchval(SIZE) == before
    # Closed connections have told all their counts.
    updates, in_place = await superuser.fetchrow(UPDATES)
    assert updates >= 0.5 * 200 * len(CAMERAS)
    assert in_place >= 0.9 * updates


async def test_statements_with_lists_are_planned_once_however_many_leases_there_are(
    postgres: PostgresServer, database: str, superuser: asyncpg.Connection
):
    async with control_planes(postgres.url(database)) as [store]:
        await with_cameras(store, *CAMERAS)
        await superuser.execute(MANY)
        await superuser.execute("ANALYZE")
        await with_runners(store, ONE)
        for camera_id in CAMERAS[:10]:
            lease = await take(store, ONE, camera_id)
            await renew(store, ONE, lease)
            await store.release(ONE, [Named(lease.camera_id, lease.generation)])
        async with store._db.single() as connection:
            plans = (await connection.exec_driver_sql(PLANS)).scalars().all()
    assert plans == [5, 5, 5]  # so many times PostgreSQL looks before it decides


@pytest.fixture(scope="session")
def roles(postgres: PostgresServer) -> str:
    """A database with the roles of `roles.sql`, each with a user that logs in."""
    script = resources.files("streamward.drivers.sql").joinpath("roles.sql").read_text(encoding="utf-8")
    users = "".join(f"CREATE USER test_{role} IN ROLE streamward_{role};" for role in ("control", "leases", "batcher"))
    name = asyncio.run(postgres.emptied("test_roles"))
    for each in (script, script, users):  # the script may be run again
        asyncio.run(postgres.run(each, database=name))
    return name


async def test_the_control_plane_runs_without_rights_to_the_schema(postgres: PostgresServer, roles: str):
    url = postgres.url(roles, user="test_control")
    store = SqlStore(url, clock=SystemClock(), bell=Bell())
    await store.open()
    await with_cameras(store)
    await with_runners(store, ONE)
    lease = await take(store, ONE)
    assert (await renew(store, ONE, lease)).lost == ()
    assert len(await store.history(lease.camera_id)) == 1
    login = CameraLogin(camera_id=lease.camera_id, login=LoginId("a" * 64))
    assert (await store.judge_logins(LoginTalk(owner=ONE, asks=(login,)), scope=None)).answers
    assert await store.end(ONE) == (lease.camera_id,)
    assert await remove_camera(store, lease.camera_id)
    await store.close()


async def test_a_schema_that_is_behind_names_the_command_that_its_owner_runs(
    postgres: PostgresServer, roles: str, tmp_path: Path
):
    name = await postgres.create()
    try:
        url = postgres.url(name)
        script = resources.files("streamward.drivers.sql").joinpath("roles.sql").read_text(encoding="utf-8")
        await postgres.run(script, database=name)
        await downgrade(url, to=PREVIOUS)
        for store in (
            SqlStore(postgres.url(name, user="test_control"), clock=SystemClock(), bell=Bell()),
            SqlInsight(
                Database(postgres.url(name, user="test_batcher"), clock=SystemClock(), bell=Bell()), rules=Rules()
            ),
        ):
            with pytest.raises(SchemaBehind, match=f"has schema {PREVIOUS}, .* run `streamward migrate` as the owner"):
                await store.open()
            await store.close()
        for told in (f"from schema {PREVIOUS} to {newest()}", "already, the newest"):
            ran = await asyncio.to_thread(run, "migrate", data=tmp_path / "data", DATABASE_URL=url)
            assert (ran.returncode, told in ran.stdout) == (0, True), ran.stderr
        refused = await asyncio.to_thread(run, "migrate", data=tmp_path / "data", DATABASE_URL="memory://")
        assert (refused.returncode, "Traceback" in refused.stderr) == (1, False)
    finally:
        await postgres.drop(name)


async def test_the_roles_need_somebody_who_may_create_them_and_say_so(postgres: PostgresServer, database: str):
    script = resources.files("streamward.drivers.sql").joinpath("roles.sql").read_text(encoding="utf-8")
    missing = script.replace("streamward_control", "streamward_absent")
    await postgres.run("CREATE ROLE test_poor LOGIN")
    connection = await asyncpg.connect(postgres.url(database, user="test_poor"))
    with pytest.raises(asyncpg.RaiseError, match="streamward_absent does not exist, and test_poor may not create it"):
        await connection.execute(missing)
    await connection.close()


async def test_a_batcher_runs_with_the_rights_of_its_role(postgres: PostgresServer, roles: str):
    url = postgres.url(roles)
    async with control_planes(url) as [store]:
        await store.save_site(a_site(tenant=TenantId("tenant-1")))
        await with_cameras(store, "cam-7")
        await with_runners(store, SEEING)
        await take(store, SEEING, "cam-7")
    async with batchers(postgres.url(roles, user="test_batcher")) as [insight]:
        [stored] = (await insight.detections.admit([a_seen(camera_id="cam-7", owner=SEEING)])).stored
        assert stored is not None
        assert (await insight.batches.close_batch(a_sealed([stored.detection_id], camera_id="cam-7"))).is_new
        await insight.batches.told([each.position for each in await insight.batches.untold(limit=9)])
        await broadcast(insight, TenantId("tenant-1"), "detection.new", ["{}"])
        assert await insight.broadcasts.prune(kept=-60, limit=9) == 1
        assert list(await insight.rules.rules()) == ["tenant-1"]
        assert len(await insight.records.detections_of(a_batch_id(1), scope=None)) == 1
        assert await insight.records.prune({}, otherwise=-60, limit=9) == 1


async def test_a_tenant_is_deleted_with_the_rights_of_both_roles(postgres: PostgresServer, roles: str):
    tenant = Tenant(tenant_id=TenantId("tenant-8"), tenant_key="~8", updated_at=UNDATED)
    site = a_site("site-8", tenant=tenant.tenant_id)
    camera = a_camera("cam-8", site=site.site_id, tenant=tenant.tenant_id)
    seen = replace(a_seen("event-8", camera_id="cam-8", tenant=tenant.tenant_id, owner=SEEING), site_id=site.site_id)
    store = SqlStore(postgres.url(roles, user="test_control"), clock=SystemClock(), bell=Bell())
    await store.open()
    await store.edit([Edit(after=tenant), Edit(after=site), Edit(after=camera)], author=ADA)
    await with_runners(store, SEEING)
    await take(store, SEEING, "cam-8")
    async with batchers(postgres.url(roles, user="test_batcher")) as [insight]:
        assert (await insight.detections.admit([seen])).stored != (None,)
        await insight.deletions.at_work()
        assert await remove_camera(store, "cam-8")
        places = [
            await store.find_site(site.site_id, scope=None),
            await store.find_tenant(tenant.tenant_id, scope=None),
        ]
        assert isinstance(await store.edit([Edit(before=each) for each in places], author=ADA), Edited)
        [begun] = await store.deletions()
        while await store.delete_rows(begun, limit=1):
            pass
        assert (await store.advance(begun)).stage is DeletionStage.PAYLOADS
        [waiting] = await insight.deletions.waiting()
        await insight.deletions.payloads_deleted(waiting)
        assert (await store.advance(begun)).stage is DeletionStage.NAME
    assert {"grants", "detections", "audit"} <= set((await store.advance(begun)).removed)
    await store.close()


async def test_the_function_that_deletes_deletes_of_no_tenant_that_is_live(postgres: PostgresServer, roles: str):
    connection = await asyncpg.connect(postgres.url(roles, user="test_control"))
    for kind, tenant in (("detections", "tenant-1"), ("detections", "nobody"), ("cameras", "tenant-8")):
        with pytest.raises(asyncpg.PostgresError):
            await connection.execute(f"SELECT delete_tenant_rows('{kind}', '{tenant}', 9)")
    await connection.close()


async def test_a_leasing_role_reads_cameras_and_upserts_leases(postgres: PostgresServer, roles: str):
    await postgres.run(
        "INSERT INTO cameras (camera_uuid, tenant_id, site_id, rtsp_url, updated_at)"
        " VALUES ('cam-9', 't', 's', 'rtsp://x', now())",
        database=roles,
    )
    leasing = await asyncpg.connect(postgres.url(roles, user="test_leases"))
    assert len(await leasing.fetch("SELECT * FROM cameras WHERE camera_uuid = 'cam-9'")) == 1
    granted = await leasing.fetchval(
        "INSERT INTO stream_leases AS l (camera_uuid, tenant_id, site_id) VALUES ('cam-9', 't', 's')"
        f" ON CONFLICT (camera_uuid) DO UPDATE SET {GRANT} RETURNING generation"
    )
    assert granted == 1
    await leasing.close()


@pytest.mark.parametrize(
    ("user", "statement"),
    [
        *(
            ("test_leases", statement)
            for statement in (
                "INSERT INTO cameras SELECT * FROM cameras",
                "UPDATE cameras SET enabled = false",
                "DELETE FROM cameras",
                "DELETE FROM stream_leases",
                "TRUNCATE stream_leases",
                "SELECT * FROM runners",
                "SELECT * FROM lease_grants",
                "INSERT INTO lease_grants VALUES ('c', 9, 'r', 'i', now())",
            )
        ),
        *(
            ("test_batcher", statement)
            for statement in (
                "SELECT * FROM cameras",
                "SELECT * FROM identities",
                "SELECT * FROM stream_leases",
                "SELECT FROM stream_leases FOR KEY SHARE",
                "UPDATE batching_rules SET wishes = '{}'",
            )
        ),
        *(
            ("test_control", statement)
            for statement in (
                "DELETE FROM detections",
                "UPDATE batches SET told_at = NULL",
                "SELECT * FROM grants_of(ARRAY['c'], ARRAY[1::bigint], true)",
                "UPDATE audit SET after = NULL",
                "DELETE FROM runners",
            )
        ),
        ("test_leases", "SELECT delete_tenant_rows('detections', 'tenant-1', 9)"),
        ("test_batcher", "SELECT delete_tenant_rows('detections', 'tenant-1', 9)"),
        *(
            (user, statement)
            for user in ("test_leases", "test_control", "test_batcher")
            for statement in (
                "DELETE FROM lease_grants",
                "UPDATE lease_grants SET granted_at = now()",
                "DELETE FROM stream_leases",
                "ALTER TABLE stream_leases DISABLE TRIGGER USER",
                "DROP TABLE stream_leases",
                "CREATE TABLE mine (x int)",
                "CREATE OR REPLACE FUNCTION lease_now() RETURNS timestamptz LANGUAGE sql AS 'SELECT now()'",
                "SET session_replication_role = replica",
                "CREATE ROLE more SUPERUSER",
            )
        ),
    ],
)
async def test_no_role_may_do_more(postgres: PostgresServer, roles: str, user: str, statement: str):
    connection = await asyncpg.connect(postgres.url(roles, user=user))
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute(statement)
    await connection.close()
