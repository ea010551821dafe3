"""`streamward batcher` as a process: the fence with real stores, its pages, and its end."""

import re
import signal
from datetime import datetime, timedelta
from pathlib import Path

from streamward.drivers.sql.store import SqlStore
from streamward.insight.records import Recent
from streamward.leases.store import Named
from streamward.model.bus import Published
from streamward.protocol import events
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from tests.support.batch_desk import OWNERS, an_event, told
from tests.support.batch_plant import BatcherProcess, Plant
from tests.support.builders import CAMERA
from tests.support.fleet import take, with_runners
from tests.support.labs import until
from tests.support.postgres import PostgresServer
from tests.support.processes import run

ALL = Recent(scope=None, limit=1000)


async def succeeded(plant: Plant) -> datetime:
    """The camera's owner releases it, saying that it made nothing later, and another one gets it; returns when."""
    store = SqlStore(plant.url, clock=SystemClock(), bell=Bell())
    await store.open()
    await store.release(OWNERS[1], [Named(CAMERA, None)])
    await with_runners(store, OWNERS[2])
    await take(store, OWNERS[2])
    [released, _] = await store.history(CAMERA)
    await store.close()
    assert released.ended_at is not None
    return released.ended_at


async def published(plant: Plant, moments: list[datetime], *, first: int) -> None:
    async with plant.bus() as bus:
        for place, made_at in enumerate(moments):
            assert isinstance(await bus.publish(told(an_event(made_at, frame=first + place))), Published)


def count(batcher: BatcherProcess, outcome: str) -> int:
    return int(batcher.metric(f'detections_total{{outcome="{outcome}"}}'))


async def test_what_a_thawed_worker_makes_is_refused_and_its_old_spool_is_late_on_sqlite(tmp_path: Path) -> None:
    await assert_fenced(Plant(tmp_path / "data"))


async def test_what_a_thawed_worker_makes_is_refused_and_its_old_spool_is_late_on_postgresql(
    tmp_path: Path, postgres: PostgresServer, database: str
) -> None:
    await assert_fenced(Plant(tmp_path / "data", {"DATABASE_URL": postgres.url(database)}))


async def assert_fenced(plant: Plant) -> None:
    """Of what an owner made before it released its camera all is stored, as late; of what it made after, nothing."""
    await plant.seed()
    released_at = await succeeded(plant)
    tick = timedelta(milliseconds=1)
    before = [released_at - tick * place for place in range(20)]
    after = [released_at + tick * place for place in range(1, 21)]
    await published(plant, before, first=1)
    await published(plant, after, first=100)
    with plant.batcher() as batcher:
        until(lambda: count(batcher, "new") + count(batcher, "refused") == 40)
        assert (count(batcher, "new"), count(batcher, "late"), count(batcher, "refused")) == (20, 20, 20)
        async with plant.insight() as insight:
            stored = await insight.records.detections(ALL)
    assert {each.seen.event_id for each in stored} == {
        events.event_id("cam-1", generation=1, epoch=1, frame=frame) for frame in range(1, 21)
    }
    assert all(each.is_late for each in stored)


async def test_it_serves_its_pages_and_ends_in_good_order_within_seconds(tmp_path: Path) -> None:
    plant = Plant(tmp_path / "data")
    await plant.seed()
    await plant.publish(3)
    with plant.batcher() as batcher:
        assert batcher.answers("/health")
        until(lambda: batcher.answers("/ready"))
        until(lambda: batcher.metric('detections_total{outcome="new"}') == 6)
        batcher.process.send_signal(signal.SIGTERM)
        assert batcher.process.wait(60) == 0
        assert re.search(r"retention +30 days or 2,048 MiB", batcher.printed)
        assert "Traceback" not in batcher.log


def test_without_a_database_that_is_kept_it_says_what_to_set(tmp_path: Path) -> None:
    ended = run("batcher", data=tmp_path / "data", DATABASE_URL="memory://")
    assert ended.returncode == 1
    assert "set STREAMWARD_DATABASE_URL" in ended.stderr
