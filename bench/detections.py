"""Detections into PostgreSQL: behind the fence, and the same rows into a table of the same shape without any.

One part of what `bench.batcher` measures as a whole; the goal is that one's.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from itertools import count
from statistics import median

import asyncpg
import msgspec

from bench.fleet import LEASES_PER_RUNNER
from streamward.drivers.sql import Database, SqlInsight
from streamward.insight.rules import Rules
from streamward.insight.store import Seen
from streamward.model.detection import Box, Detection
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId, TenantId
from streamward.runtime.bell import Bell
from streamward.runtime.clock import SystemClock

CAMERAS = 1_000
IN_A_FRAME = 2
GROUPS = (100, 500)
SECONDS = 4.0  # of each way, in turns

_TYPES = {
    "event_id": "text",
    "idx": "integer",
    "tenant_id": "text",
    "site_id": "text",
    "camera_uuid": "text",
    "generation": "bigint",
    "made_at": "timestamptz",
    "label": "text",
    "confidence": "double precision",
    "box": "text",
    "track_id": "bigint",
    "zones": "text",
}
_BARE = (
    f"INSERT INTO {{}} ({', '.join(_TYPES)}, is_late, stored_at)"
    " SELECT n.*, false, clock_timestamp()"
    f" FROM unnest({', '.join(f'${place}::{kind}[]' for place, kind in enumerate(_TYPES.values(), start=1))}) AS n"
    " RETURNING detection_id"
)
_LIKE = "DROP TABLE IF EXISTS same, plain; CREATE TABLE same (LIKE detections INCLUDING ALL);" + (
    "CREATE TABLE plain (LIKE detections INCLUDING IDENTITY INCLUDING STORAGE, PRIMARY KEY (detection_id))"
)
_frames = count()

Store = Callable[[Sequence[Seen]], Awaitable[None]]


def main(url: str) -> None:
    """Prints the rates of both, in groups, and the share; the database is one that `bench.fleet` has filled."""
    for size in GROUPS:
        rates = asyncio.run(compare(url, size=size))
        shown = ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items())
        print(f"detections per second in groups of {size}: {shown}", flush=True)
        for other in ("same indexes, no fence", "key only, no fence"):
            share = rates["behind the fence"] / rates[other]
            print(f"  behind the fence, share of {other}: {share:.0%}", flush=True)


async def compare(url: str, *, size: int) -> dict[str, float]:
    """Rows a second each way; a group each in turn, so that the machine's bad moments hit all alike."""
    connection = await asyncpg.connect(url)
    insight = SqlInsight(Database(url, clock=SystemClock(), bell=Bell()), rules=Rules())
    await insight.open()
    await connection.execute(f"TRUNCATE detections; {_LIKE}")
    ways: dict[str, Store] = {
        "behind the fence": _fenced(insight),
        "same indexes, no fence": _bare(connection, "same"),
        "key only, no fence": _bare(connection, "plain"),
    }
    try:
        took: dict[str, list[float]] = {name: [] for name in ways}
        end = time.perf_counter() + SECONDS * len(ways)
        while time.perf_counter() < end:
            for name, store in ways.items():
                seen = a_group(size)
                began = time.perf_counter()
                await store(seen)
                took[name].append(time.perf_counter() - began)
        return {name: size / median(each) for name, each in took.items()}
    finally:
        await connection.close()
        await insight.close()


def a_group(size: int) -> list[Seen]:
    """Frames of the cameras in turn, some things in each, as they come from the shards of many runners."""
    now = SystemClock().wall()
    frames = [next(_frames) for _ in range(size // IN_A_FRAME)]
    return [_seen(frame, index, now) for frame in frames for index in range(IN_A_FRAME)]


def _seen(frame: int, index: int, now: datetime) -> Seen:
    camera = frame * 7 % CAMERAS
    return Seen(
        event_id=f"cam-{camera}.1.1.{frame}",
        index=index,
        tenant_id=TenantId("tenant"),
        site_id=SiteId("site"),
        camera_id=CameraId(f"cam-{camera}"),
        runner_id=RunnerId(f"runner-{camera // LEASES_PER_RUNNER}"),
        incarnation=Incarnation("inc"),
        generation=Generation(1),
        made_at=now,
        detection=Detection("person", 0.75, Box(1.0, 2.0, 30.5, 40.25), track_id=index, zones=("door",)),
    )


def _fenced(insight: SqlInsight) -> Store:
    async def store(seen: Sequence[Seen]) -> None:
        admitted = await insight.detections.admit(seen)
        assert all(each is not None and each.is_new for each in admitted.stored)

    return store


def _bare(connection: asyncpg.Connection, table: str) -> Store:
    insert = _BARE.format(table)

    async def store(seen: Sequence[Seen]) -> None:
        await connection.fetch(insert, *map(list, zip(*map(_row, seen), strict=True)))

    return store


def _row(seen: Seen) -> tuple[object, ...]:
    what = seen.detection
    return (
        seen.event_id,
        seen.index,
        seen.tenant_id,
        seen.site_id,
        seen.camera_id,
        seen.generation,
        seen.made_at,
        what.label,
        what.confidence,
        msgspec.json.encode((what.box.x1, what.box.y1, what.box.x2, what.box.y2)).decode(),
        what.track_id,
        msgspec.json.encode(what.zones).decode(),
    )
