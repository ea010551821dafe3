"""Batchers killed (−9) at every step; the next one brings everything to its end, and no batch is lost or doubled."""

import signal
from pathlib import Path

from tests.support.batch_plant import Plant, died
from tests.support.postgres import PostgresServer
from tests.support.rabbitmq import RabbitServer
from tests.support.redis_server import PrivateRedis

# So that what an earlier batcher stored is still in no closed batch when the sweeper looks, ten seconds after it began.
LONG = {"BATCH_WINDOW_SECONDS": 30, "BATCH_IDLE_TIMEOUT_SECONDS": 30, "BATCH_MAX_DETECTIONS": 1000}
POINTS: dict[str, dict[str, int]] = {
    "take": LONG,
    "admit": LONG,
    "add": LONG,
    "ack": LONG,
    "sweep": LONG,
    "seal": {},
    "close": {},
    "forget": {},
    "publish": {},
    "told": {},
}


async def killed_everywhere(plant: Plant) -> list[str]:
    """One batcher after the other dies at its point, each with work, and the last one lives; at which they died."""
    died_at = []
    await plant.seed()
    for step, settings in POINTS.items():
        await plant.publish(12)
        with plant.batcher(FAILPOINTS=f"batch.after-{step}=exit", **settings) as batcher:
            died_at += [step] if died(batcher.process) == -signal.SIGKILL else []
    with plant.batcher() as batcher:
        await plant.settled()
        assert batcher.is_ready()
    await plant.assert_whole()
    return died_at


async def test_on_sqlite_and_the_embedded_bus_with_the_index_in_memory(tmp_path: Path) -> None:
    assert await killed_everywhere(Plant(tmp_path / "data")) == list(POINTS)


async def test_on_postgresql_rabbitmq_and_redis(
    tmp_path: Path, postgres: PostgresServer, database: str, mortal_rabbitmq: RabbitServer, mortal_redis: PrivateRedis
) -> None:
    settings = {
        "DATABASE_URL": postgres.url(database),
        "AMQP_URL": mortal_rabbitmq.url(),
        "REDIS_URL": mortal_redis.url(),
    }
    assert await killed_everywhere(Plant(tmp_path / "data", settings)) == list(POINTS)
