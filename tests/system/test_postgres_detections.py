"""What storing and sweeping detections does to the tables, on a real PostgreSQL with many rows."""

import asyncpg
import pytest

from streamward.drivers.sql import SqlInsight
from streamward.insight.records import Recent
from streamward.insight.store import Seen
from streamward.model.ids import CameraId, TenantId
from tests.support.builders import an_owner, at
from tests.support.postgres import PostgresServer
from tests.support.sightings import a_batch_id, a_sealed, a_seen
from tests.support.stores import batchers

MANY = (
    "INSERT INTO stream_leases (camera_uuid, tenant_id, site_id, generation, runner_id, incarnation, state, ttl,"
    " granted_at, expires_at) SELECT 'many-' || i, 'tenant-1', 'site-1', 1, 'r', 'i', 'ACTIVE', 600,"
    " '2025-01-01', now() + interval '600 s' FROM generate_series(1, 20000) AS i;"
    "INSERT INTO detections (event_id, idx, tenant_id, site_id, camera_uuid, generation, made_at, stored_at, is_late,"
    " label, confidence, box, batch_id)"
    " SELECT 'old-' || i, 0, 'tenant-' || i % 50, 'site-1', 'many-' || i % 20000, 1, '2025-06-01', '2025-06-01', false,"
    " 'person', 0.5, '[0,0,1,1]', 'batch-' || i / 10 FROM generate_series(1, 30000) AS i;"
    "INSERT INTO batches (batch_id, tenant_id, camera_uuid, detection_ids, started_at, closed_at, reason, told_at)"
    " SELECT 'batch-' || i, 'tenant-' || i % 50, 'many-' || i % 20000, '[1]', '2025-06-01', '2025-06-01', 'max_size',"
    " '2025-06-01' FROM generate_series(1, 5000) AS i;"
    "ANALYZE"
)
SCANS = "SELECT relname, seq_scan FROM pg_stat_user_tables WHERE relname = ANY ($1)"
USES = "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname = 'detections'"
TABLES = ["detections", "batches", "lease_grants", "stream_leases"]
TENANT = TenantId("tenant-1")
OFTEN = 8  # PostgreSQL plans a statement anew five times before it decides how to go on


@pytest.fixture
async def superuser(postgres: PostgresServer, database: str):
    connection = await asyncpg.connect(postgres.url(database))
    await connection.execute(MANY)
    await connection.execute("SET enable_seqscan = off")  # what this one reads is not what is counted
    yield connection
    await connection.close()


def group(turn: int, size: int) -> list[Seen]:
    owner = an_owner("r", incarnation="i")
    return [
        a_seen(f"new-{turn}-{place}", camera_id=f"many-{place + 1}", owner=owner, made_at=at(turn))
        for place in range(size)
    ]


async def use(insight: SqlInsight, turn: int, size: int) -> None:
    """Everything that goes on all the time, once."""
    stored = (await insight.detections.admit(group(turn, size))).stored
    again = (await insight.detections.admit(group(turn, size))).stored
    assert [each is not None and each.is_new for each in (*stored, *again)] == [True] * size + [False] * size
    loose = await insight.detections.loose(stored_before=at(1e9), after=0, limit=100)
    assert len(loose) == min(size, 100)
    for number, each in enumerate(stored):
        assert each is not None
        batch = a_sealed([each.detection_id], number=turn * 1000 + number, camera_id=f"many-{number + 1}")
        await insight.batches.close_batch(batch)
        if number == 3:
            break
    await insight.batches.reopen(a_batch_id(turn * 1000))
    await insight.batches.told([each.position for each in await insight.batches.untold(limit=100)])


async def read(insight: SqlInsight) -> None:
    camera_id = CameraId("many-2")
    for wanted in (Recent(scope=None), Recent(scope=TENANT), Recent(scope=TENANT, camera_id=camera_id)):
        assert len(await insight.records.detections(wanted)) > 0
        assert len(await insight.records.batches(wanted)) > 0
    assert len(await insight.records.detections_of(a_batch_id(1), scope=TENANT)) == 1
    assert await insight.records.detections(Recent(scope=TenantId("nobody"))) == []


@pytest.mark.parametrize("size", [100, 500])
async def test_nothing_that_goes_on_all_the_time_reads_a_whole_table(
    postgres: PostgresServer, database: str, superuser: asyncpg.Connection, size: int
):
    before = dict(await superuser.fetch(SCANS, TABLES))
    used = dict(await superuser.fetch(USES))
    async with batchers(postgres.url(database)) as [insight]:
        for turn in range(OFTEN):
            await use(insight, turn, size)
            await superuser.execute("UPDATE detections SET batch_id = 'gone' WHERE detection_id > 30000")
            await read(insight)
    # Closed connections have told all their counts.
    after = dict(await superuser.fetch(SCANS, TABLES))
    assert {name: count - before[name] for name, count in after.items()} == dict.fromkeys(TABLES, 0)
    uses = {name for name, count in dict(await superuser.fetch(USES)).items() if count > used[name]}
    assert {"detections_loose", "detections_by_camera", "detections_by_tenant", "detections_pkey"} <= uses
