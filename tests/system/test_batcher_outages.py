"""Two batchers while what they work on is killed: they wait, and nothing is lost or doubled."""

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.batch_plant import BatcherProcess, Plant
from tests.support.labs import until
from tests.support.postgres import PostgresServer
from tests.support.rabbitmq import RabbitServer
from tests.support.redis_server import PrivateRedis

Outage = Callable[[], contextlib.AbstractContextManager[None]]


@contextlib.contextmanager
def killed(kill: Callable[[], None], start: Callable[[], None]) -> Iterator[None]:
    kill()
    try:
        yield
    finally:
        start()


async def went_through(plant: Plant, batchers: list[BatcherProcess], outage: Outage) -> None:
    """Something is away for a while, in the middle of the work."""
    await plant.publish(30)
    until(lambda: sum(each.metric('detections_total{outcome="new"}') for each in batchers) > 0)
    with outage():
        until(lambda: not any(each.is_ready() for each in batchers))
    await plant.publish(30)


@pytest.mark.parametrize("which", ["postgresql", "rabbitmq", "redis"])
async def test_while_one_of_the_three_is_killed_and_comes_back(
    tmp_path: Path, mortal_postgres: PostgresServer, mortal_rabbitmq: RabbitServer, mortal_redis: PrivateRedis, which
) -> None:
    outages: dict[str, Outage] = {
        "postgresql": lambda: killed(mortal_postgres.crash, mortal_postgres.resume),
        "rabbitmq": lambda: killed(mortal_rabbitmq.kill, mortal_rabbitmq.start),
        "redis": lambda: killed(mortal_redis.kill, mortal_redis.start),  # which keeps nothing: all is lost
    }
    settings = {
        "DATABASE_URL": mortal_postgres.url(await mortal_postgres.create()),
        "AMQP_URL": mortal_rabbitmq.url(),
        "REDIS_URL": mortal_redis.url(),
    }
    plant = Plant(tmp_path / "data", settings)
    await plant.seed()
    with plant.batcher() as one, plant.batcher() as other:
        await went_through(plant, [one, other], outages[which])
        await plant.settled()
        for each in (one, other):
            each.process.send_signal(signal.SIGTERM)
        assert [each.process.wait(60) for each in (one, other)] == [0, 0]
    await plant.assert_whole()
