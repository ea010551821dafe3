"""`python -m bench.closing`: how soon after the end of their window batches are written down, with ten thousand open.

The real closer on PostgreSQL and Redis. As many fall due each second as do when windows of 90 s go on and on.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

from bench.fleet import LEASES_PER_RUNNER, fill
from streamward.batcher.adding import Adder
from streamward.batcher.closer import Closer
from streamward.batcher.facts import BatchClosed
from streamward.batcher.in_hand import InHand
from streamward.batcher.parts import Parts, parts
from streamward.drivers.redis import RedisOpenBatches
from streamward.insight.batch import Lane, Limits, Sighting
from streamward.insight.rules import Rules
from streamward.insight.store import Addition, Seen
from streamward.model.detection import Box, Detection
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from tests.support.batch_plant import Plant
from tests.support.postgres import PostgresServer, installed
from tests.support.redis_server import PrivateRedis

OPEN = 10_000
WINDOW = 90.0  # seconds over which they fall due
FIRST_DUE = 5.0  # seconds from when the last was opened
SECONDS = 30.0  # that are measured
AT_ONCE = 500
TENANT = TenantId("tenant")


async def measure(postgres: PostgresServer, redis: PrivateRedis) -> list[float]:
    """How many seconds after it was due each batch was closed."""
    url = postgres.url(await postgres.create())
    await fill(url, cameras=OPEN)
    index, journal, late = RedisOpenBatches(redis.at()), Journal(), []
    with tempfile.TemporaryDirectory() as folder:
        plant = Plant(Path(folder), {"DATABASE_URL": url})
        async with plant.insight() as insight:
            shared = parts(insight, index, otherwise=Rules(), journal=journal, clock=SystemClock())
            due = await _opened(shared)
            journal.subscribe(
                lambda fact: late.append(time.time() - due[fact.camera_id]) if isinstance(fact, BatchClosed) else None
            )
            in_hand = InHand()
            closer = Closer(shared, in_hand=in_hand, adder=Adder(shared, in_hand), on_closed=lambda *_: None)
            async with Service("closer", closer, journal=journal):
                await asyncio.sleep(min(due.values()) + SECONDS - time.time())
            await index.close()
    return late


async def _opened(shared: Parts) -> dict[str, float]:
    """Opens them all; when each is due."""
    due: dict[str, float] = {}
    stored = [await _admitted(shared, first) for first in range(0, OPEN, AT_ONCE)]
    now = await shared.time.now()
    for first, admitted in enumerate(stored):
        additions = []
        for place, (camera_id, sighting) in enumerate(admitted):
            wait = FIRST_DUE + WINDOW * (first * AT_ONCE + place) / OPEN + (now - sighting.made_at).total_seconds()
            limits = Limits(window=wait, idle=wait)
            additions.append(
                Addition(tenant_id=TENANT, camera_id=camera_id, sightings=(sighting,), lane=Lane.PRESENT, limits=limits)
            )
            due[camera_id] = (sighting.made_at + timedelta(seconds=wait)).timestamp()
        await shared.index.add_all(additions, now=now)
    return due


async def _admitted(shared: Parts, first: int) -> list[tuple[CameraId, Sighting]]:
    seen = [_seen(number, await shared.time.now()) for number in range(first, first + AT_ONCE)]
    admitted = await shared.insight.detections.admit(seen)
    return [
        (each.camera_id, stored.sighting)
        for each, stored in zip(seen, admitted.stored, strict=True)
        if stored is not None
    ]


def _seen(number: int, made_at: datetime) -> Seen:
    return Seen(
        event_id=f"cam-{number}.1.1.1",
        index=0,
        tenant_id=TENANT,
        site_id=SiteId("site"),
        camera_id=CameraId(f"cam-{number}"),
        runner_id=RunnerId(f"runner-{number // LEASES_PER_RUNNER}"),
        incarnation=Incarnation("inc"),
        generation=Generation(1),
        made_at=made_at,
        detection=Detection("person", 0.9, Box(0, 0, 10, 10)),
    )


def main(postgres: PostgresServer) -> None:
    """Prints the figure beside its goal."""
    redis = PrivateRedis()
    try:
        redis.start()
        late = sorted(asyncio.run(measure(postgres, redis)))
    finally:
        redis.remove()
    shown = f"p50 {statistics.median(late):.2f} s, p99 {late[len(late) * 99 // 100]:.2f} s, all {late[-1]:.2f} s"
    print(f"{f'closed after due, {OPEN:,} open':<46}{shown:<34}goal ≤ 1 s", flush=True)
    print(f"  {len(late):,} were closed in {SECONDS:g} s", flush=True)


if __name__ == "__main__":
    binaries = installed()
    if binaries is None:
        sys.exit("PostgreSQL is not installed")
    server = PostgresServer(binaries)
    try:
        server.start()
        asyncio.run(server.make_template())
        main(server)
    finally:
        server.stop()
