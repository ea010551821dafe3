"""Detections from RabbitMQ into batches, against a bare loop on the same servers: consume, insert 100 rows, one ack.

Both begin with a full queue of the same messages, one detection each, and take turns. The batcher's figure has
everything in it: reading, fence, once only, the index in Redis, broadcasts, closed batches, the analysis queue.
Processor time is that of the Python process alone. Then what a batcher costs at a low rate: `bench.batcher_cost`.
"""

import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import aio_pika
import asyncpg
import uvloop

from bench import batcher_cost
from streamward.batcher.batcher import Batcher, Outside
from streamward.batcher.facts import DetectionsStored
from streamward.batcher.parts import parts
from streamward.drivers.memory.objects import MemoryObjects
from streamward.drivers.redis import RedisOpenBatches
from streamward.drivers.sql.store import SqlStore
from streamward.insight.rules import Rules
from streamward.model.bus import Binding, Bus, Queue
from streamward.model.message import Message
from streamward.protocol import events
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from tests.support.batch_desk import OWNERS, an_event, told
from tests.support.batch_plant import Plant
from tests.support.builders import a_site
from tests.support.buses import over_rabbitmq
from tests.support.fleet import take, with_cameras, with_runners
from tests.support.postgres import PostgresServer
from tests.support.rabbitmq import RabbitServer
from tests.support.redis_server import PrivateRedis

MESSAGES = 8_000
CAMERAS = [f"cam-{number}" for number in range(40)]
AT_ONCE = 100
PASSES = 3
PATIENCE = 300.0  # seconds
BARE = Queue(name="bench.bare", bindings=(Binding(events.DETECTIONS, "detections.#"),))

_TABLE = """
    CREATE TABLE IF NOT EXISTS bare (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, event_id TEXT UNIQUE,
    camera TEXT, body TEXT)
"""
_INSERT = "INSERT INTO bare (event_id, camera, body) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])"


@dataclass(frozen=True, slots=True)
class Way:
    """One way in one pass."""

    rate: float  # detections a second
    spent: float  # processor seconds for each detection


async def measure(postgres: PostgresServer, rabbit: RabbitServer, redis: PrivateRedis) -> list[tuple[Way, Way]]:
    """Bare and through a batcher, pass by pass."""
    bus = over_rabbitmq(rabbit)
    await bus.declare(events.BATCHER)
    await bus.declare(BARE)
    found = []
    for number in range(PASSES):
        url = postgres.url(await postgres.create())  # what an earlier pass left would be swept
        await _seed(url)
        async with redis.client() as client:
            await client.flushall()
        await _fill(bus, number)
        straight = await _timed(_bare(rabbit.url(), url))
        found.append((straight, await _timed(_batched(url, bus, redis))))
    await bus.close()
    return found


async def _timed(work: Awaitable[float]) -> Way:
    before = time.process_time()
    rate = await work
    return Way(rate, (time.process_time() - before) / MESSAGES)


async def _costs(postgres: PostgresServer, rabbit: RabbitServer, redis: PrivateRedis) -> None:
    batcher_cost.show("files", await batcher_cost.measure(_seed, _message))
    url = postgres.url(await postgres.create())
    servers = {"DATABASE_URL": url, "AMQP_URL": rabbit.url(), "REDIS_URL": redis.url()}
    batcher_cost.show("servers", await batcher_cost.measure(_seed, _message, **servers))


async def _seed(url: str) -> None:
    store = SqlStore(url, clock=SystemClock(), bell=Bell())
    await store.open()
    await store.save_site(a_site())
    await with_cameras(store, *CAMERAS)
    await with_runners(store, OWNERS[1])
    for camera in CAMERAS:
        await take(store, OWNERS[1], camera)
    await store.close()


async def _fill(bus: Bus, number: int) -> None:
    """Both queues get every message."""
    for first in range(0, MESSAGES, AT_ONCE):
        await asyncio.gather(*(bus.publish(_message(number * MESSAGES + first + each)) for each in range(AT_ONCE)))


def _message(frame: int) -> Message:
    camera = CAMERAS[frame % len(CAMERAS)]
    name = events.event_id(camera, generation=1, epoch=1, frame=frame)
    return told(an_event(datetime.now(UTC), frame=frame, camera_uuid=camera, event_id=name))


async def _bare(broker: str, url: str) -> float:
    connection, database = await aio_pika.connect(broker), await asyncpg.connect(url)
    await database.execute(_TABLE)
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=8 * AT_ONCE)
    queue = await channel.get_queue(BARE.name)
    began, done, waiting = time.perf_counter(), 0, []
    async with queue.iterator() as messages:
        async for message in messages:
            waiting.append(message)
            if len(waiting) == AT_ONCE:
                rows = [(each.message_id, each.routing_key, each.body.decode()) for each in waiting]
                await database.execute(_INSERT, *map(list, zip(*rows, strict=True)))
                await waiting[-1].ack(multiple=True)
                done, waiting = done + AT_ONCE, []
            if done == MESSAGES:
                break
    took = time.perf_counter() - began
    await connection.close()
    await database.close()
    return MESSAGES / took


async def _batched(url: str, bus: Bus, redis: PrivateRedis) -> float:
    journal, stored, done = Journal(), 0, asyncio.Event()

    def count(fact: object) -> None:
        nonlocal stored
        if isinstance(fact, DetectionsStored):
            stored += fact.new + fact.known  # known: a group that was stored, though the answer was lost
            if stored >= MESSAGES:
                done.set()

    journal.subscribe(count)
    async with _outside(url, bus, redis, journal) as outside:
        batcher = Batcher(outside)
        began = time.perf_counter()
        async with batcher.running(), asyncio.timeout(PATIENCE):
            await done.wait()
            while await bus.waiting(events.BATCHER.name):
                pass
            took = time.perf_counter() - began
    return MESSAGES / took


@contextlib.asynccontextmanager
async def _outside(url: str, bus: Bus, redis: PrivateRedis, journal: Journal) -> AsyncIterator[Outside]:
    index, clock = RedisOpenBatches(redis.at()), SystemClock()
    with tempfile.TemporaryDirectory() as folder:
        plant = Plant(Path(folder), {"DATABASE_URL": url})
        async with plant.insight() as insight:
            shared = parts(insight, index, otherwise=Rules(), journal=journal, clock=clock)
            yield Outside(parts=shared, bus=bus, objects=MemoryObjects())
            await index.close()


def main(postgres: PostgresServer) -> None:
    """Prints each pass, the median share beside its goal, and the cost at a low rate."""
    rabbit, redis = RabbitServer(), PrivateRedis()
    try:
        rabbit.start()
        redis.start()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # as the real process, and the bare loop too
            _show(runner.run(measure(postgres, rabbit, redis)))
            runner.run(_costs(postgres, rabbit, redis))
    finally:
        rabbit.remove()
        redis.remove()


def _show(found: list[tuple[Way, Way]]) -> None:
    for number, (straight, batched) in enumerate(found, start=1):
        print(
            f"pass {number}: bare {straight.rate:,.0f}/s ({straight.spent * 1e6:.0f} µs of processor time each), "
            f"batcher {batched.rate:,.0f}/s ({batched.spent * 1e6:.0f} µs), share {batched.rate / straight.rate:.0%}"
        )
    middle = sorted(batched.rate / straight.rate for straight, batched in found)[PASSES // 2]
    print(f"{'detections into batches, share of bare':<46}{f'{middle:.0%}':<34}goal ≥ 80 %", flush=True)
