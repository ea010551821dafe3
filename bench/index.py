"""`python -m bench.index [passes]`: what it costs to add to open batches in Redis, and how soon what is due is told.

One private Redis, this process and nothing else. Plain: S2's own commands for a detection that joins its batch, one
after the other. Ours: the same detection by script, alone, and in one round trip with 49 others.
"""

import asyncio
import itertools
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from redis.asyncio import Redis

from streamward.drivers.redis import RedisOpenBatches
from streamward.insight.batch import Lane, Limits, Sighting
from streamward.insight.store import Addition
from streamward.model.ids import CameraId, TenantId
from tests.support.redis_server import PrivateRedis, is_installed

SECONDS = 1.5  # of each figure
CAMERAS = 1_000
CLIENTS = 16
GROUP = 50
OPEN = 10_000
SPREAD = 10.0  # seconds over which they are due
FIRST_DUE = 5.0  # seconds from when the first was opened
TICK = 0.25  # seconds between two looks for what is due
TENANT = TenantId("bench")
TTL = 3600

Add = Callable[[int], Awaitable[int]]  # by the number of the call; how many detections it added


def main() -> int:
    """Measures in passes, each beside its own yardstick."""
    if not is_installed():
        print("Redis is not installed: nothing to measure against", file=sys.stderr)
        return 1
    passes = int(sys.argv[1]) if len(sys.argv) > 1 and sys.argv[1].isdigit() else 3
    server = PrivateRedis()
    try:
        server.start()
        ratios = [asyncio.run(_pass(server, number)) for number in range(1, passes + 1)]
        _tell("adding to batches, groups of 50 against plain", f"{statistics.median(ratios):.1f} ×", "≥ 5 ×")
        asyncio.run(_due(server))
    finally:
        server.remove()
    return 0


@dataclass(frozen=True, slots=True)
class Cost:
    """What adding detections took."""

    per_second: float
    client: float  # seconds of processor for each
    server: float

    def __str__(self) -> str:
        return f"{self.per_second:,.0f}/s ({self.client * 1e6:.0f} + {self.server * 1e6:.0f} µs)"


async def _pass(server: PrivateRedis, number: int) -> float:
    async with _emptied(server) as client:
        plain = await _cost(client, _plain(client), clients=1)
        plainly = await _cost(client, _plain(client), clients=CLIENTS)
    async with _emptied(server) as client:
        index = RedisOpenBatches(server.at())
        single = await _cost(client, _grouped(index, 1), clients=1)
        singly = await _cost(client, _grouped(index, 1), clients=CLIENTS)
        grouped = await _cost(client, _grouped(index, GROUP), clients=1)
        several = await _cost(client, _grouped(index, GROUP, apiece=5), clients=1)
        await index.close()
    print(f"pass {number}, detections a second, and processor of client + Redis for each:")
    print(
        f"  S2's commands {plain}, {CLIENTS} at once {plainly}; a script for each {single}, {CLIENTS} at once {singly}"
    )
    print(f"  {GROUP} cameras in one go {grouped}, five of each of {GROUP // 5} cameras {several}", flush=True)
    return grouped.per_second / max(plain.per_second, plainly.per_second)


@asynccontextmanager
async def _emptied(server: PrivateRedis) -> AsyncIterator[Redis]:
    async with server.client() as client:
        await client.flushall()
        yield client


async def _cost(client: Redis, add: Add, *, clients: int) -> Cost:
    numbers = itertools.count()
    over_at = time.monotonic() + SECONDS

    async def one() -> int:
        added = 0
        while time.monotonic() < over_at:
            added += await add(next(numbers))
        return added

    began, processor, served = time.monotonic(), time.process_time(), await _spent(client)
    added = sum(await asyncio.gather(*(one() for _ in range(clients))))
    took = time.monotonic() - began
    return Cost(added / took, (time.process_time() - processor) / added, (await _spent(client) - served) / added)


async def _spent(client: Redis) -> float:
    """Seconds of processor that Redis has had."""
    used = await client.info("cpu")
    return float(used["used_cpu_user"]) + float(used["used_cpu_sys"])


def _plain(client: Redis) -> Add:
    """S2's sequence: the camera's batch, made in one transaction if there is none; append; refresh."""

    async def add(number: int) -> int:
        camera, now = f"cam-{number % CAMERAS}", str(time.time())
        found, batch_id = await client.get(f"batch:{camera}:current"), f"batch-{number:08x}"
        if found is not None:
            batch_id = str(found)
        else:
            async with client.pipeline(transaction=True) as made:
                made.set(f"batch:{camera}:current", batch_id, ex=TTL)
                made.set(f"batch:{batch_id}:camera_id", camera, ex=TTL)
                made.set(f"batch:{batch_id}:started_at", now, ex=TTL)
                made.set(f"batch:{batch_id}:last_activity", now, ex=TTL)
                await made.execute()
        await client.rpush(f"batch:{batch_id}:detections", str(number))
        await client.expire(f"batch:{batch_id}:detections", TTL)
        await client.set(f"batch:{batch_id}:last_activity", now, ex=TTL)
        return 1

    return add


def _grouped(index: RedisOpenBatches, size: int, *, apiece: int = 1) -> Add:
    """So many detections in one round trip, so many of each camera."""
    ids = itertools.count(1)

    async def add(number: int) -> int:
        now = datetime.now(UTC)
        cameras = size // apiece
        additions = [
            Addition(
                tenant_id=TENANT,
                camera_id=CameraId(f"cam-{(number * cameras + place) % CAMERAS}"),
                sightings=[Sighting(next(ids), now) for _ in range(apiece)],
                lane=Lane.PRESENT,
                limits=Limits(most=1_000_000),
            )
            for place in range(cameras)
        ]
        await index.add_all(additions, now=now)
        return size

    return add


async def _due(server: PrivateRedis) -> None:
    """How long after they are due batches are told, looked for as a batcher does."""
    async with _emptied(server):
        index = RedisOpenBatches(server.at())
        due = await _opened(index)
        late: list[float] = []
        took: list[float] = []
        while due:
            began = time.monotonic()
            sealed = await index.seal_due(TENANT, now=datetime.now(UTC), limit=100, is_check=True)
            took.append(time.monotonic() - began)
            told = time.time()
            late += [told - due.pop(batch.camera_id) for batch in sealed]
            await index.forget(TENANT, sealed)
            await asyncio.sleep(0 if len(sealed) == 100 else TICK)
        await index.close()
    late.sort()
    shown = f"p50 {statistics.median(late):.2f} s, all {late[-1]:.2f} s"
    _tell(f"told after due, {OPEN:,} open", shown, "≤ 1 s")
    looks = f"median {statistics.median(took) * 1000:.1f} ms, all {max(took) * 1000:.1f} ms"
    print(f"  one look at up to 100 of them: {looks}", flush=True)


async def _opened(index: RedisOpenBatches) -> dict[str, float]:
    """Batches of as many cameras, and when each is due."""
    due: dict[str, float] = {}
    began = time.time()
    for first in range(0, OPEN, GROUP):
        now = datetime.now(UTC)
        additions = []
        for number in range(first, first + GROUP):
            idle = began + FIRST_DUE + SPREAD * number / OPEN - now.timestamp()
            due[f"cam-{number}"] = now.timestamp() + idle
            additions.append(
                Addition(
                    tenant_id=TENANT,
                    camera_id=CameraId(f"cam-{number}"),
                    sightings=[Sighting(number + 1, now)],
                    lane=Lane.PRESENT,
                    limits=Limits(idle=idle),
                )
            )
        await index.add_all(additions, now=now)
    return due


def _tell(what: str, figure: str, goal: str) -> None:
    print(f"{what:<46}{figure:<34}goal {goal}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
