"""The index of open batches in Redis: each verb is one script, so that each is all or nothing for everybody.

Guaranteed while Redis keeps what it has: what the port says, for any number of batchers at once, without a lock
(S2-25 to S2-28; docs/decisions/0016-no-locks-around-batches.md). Not guaranteed: that Redis keeps it. What it lost, the
database still has.

Times are judged by the `now` of the callers, in whole microseconds; only the lives of keys go by Redis's own clock.
"""

import functools
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from streamward.drivers.batch_names import Names, fresh
from streamward.drivers.redis.keys import alert_key, every_key, window_key
from streamward.drivers.redis.line import Line, RedisServer
from streamward.drivers.redis.scripts import ADD, FORGET, SEAL_DUE, URGENT, Call
from streamward.insight.batch import BatchId, CloseReason, Lane, Limits, Sealed, Sighting
from streamward.insight.store import ALERTED_FOR, CLOSING_FOR, Addition, Placed
from streamward.model.ids import CameraId, TenantId

MOST_VALUES = 1_000  # of one call: a millisecond or two, in which Redis does nothing else
MARK = "batches:began"  # no tenant's

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MARK_TTL = 3600  # seconds


class RedisOpenBatches:
    """One batcher's way to the index that all of them share."""

    def __init__(self, server: RedisServer, names: Names = fresh) -> None:
        self._line = Line(server)
        self._names = names

    async def add(
        self,
        tenant_id: TenantId,
        camera_id: CameraId,
        sightings: Sequence[Sighting],
        *,
        lane: Lane,
        limits: Limits,
        now: datetime,
    ) -> Placed:
        """Puts detections of one camera where they belong; raises IndexAway."""
        addition = Addition(tenant_id=tenant_id, camera_id=camera_id, sightings=sightings, lane=lane, limits=limits)
        (placed,) = await self.add_all([addition], now=now)
        return placed

    async def add_all(self, additions: Sequence[Addition], *, now: datetime) -> list[Placed]:
        """Adds for many cameras in one round trip; raises IndexAway."""
        calls, places = self._calls(additions, _micros(now))
        answers = await self._line.run(calls)
        flat = dict(zip(itertools.chain(*places), itertools.chain(*answers), strict=True))
        return [_placed(each.tenant_id, flat[place]) for place, each in enumerate(additions)]

    async def add_urgent(
        self, tenant_id: TenantId, camera_id: CameraId, sighting: Sighting, *, now: datetime
    ) -> Placed:
        """A batch of one, sealed at once; raises IndexAway."""
        told = (_micros(now), camera_id, sighting.detection_id, _micros(sighting.made_at), self._names())
        (answer,) = await self._line.run([Call(script=URGENT, key=window_key(tenant_id), values=told)])
        return _placed(tenant_id, answer)

    async def claim_alerts(
        self,
        tenant_id: TenantId,
        tracks: Sequence[tuple[str, int]],
        *,
        now: datetime,  # noqa: ARG002 - the lives of keys go by Redis's own clock
    ) -> frozenset[int]:
        """Of each track the first detection that was offered; raises IndexAway."""
        ttl = ALERTED_FOR // timedelta(seconds=1)
        asked: list[tuple[str | int, ...]] = []
        for track, detection_id in tracks:
            key = alert_key(tenant_id, track)
            asked += (("SET", key, detection_id, "NX"), ("EXPIRE", key, ttl), ("GET", key))
        first = (await self._line.ask(*asked))[2::3] if asked else []
        return frozenset(
            detection_id for (_, detection_id), held in zip(tracks, first, strict=True) if held == str(detection_id)
        )

    async def seal_due(self, tenant_id: TenantId, *, now: datetime, limit: int, is_check: bool) -> list[Sealed]:
        """Adopts what nobody closes, then seals what is due; raises IndexAway."""
        told = (_micros(now), limit, _micros(now - CLOSING_FOR), int(is_check))
        (answer,) = await self._line.run([Call(script=SEAL_DUE, key=window_key(tenant_id), values=told)])
        return [_sealed(tenant_id, record) for record in answer]

    async def forget(self, tenant_id: TenantId, batches: Sequence[Sealed]) -> None:
        """They are written down; raises IndexAway."""
        if batches:
            told: list[str | int] = [0, *(batch.batch_id for batch in batches)]
            await self._line.run([Call(script=FORGET, key=window_key(tenant_id), values=told)])

    async def drop_tenant(self, tenant_id: TenantId) -> None:
        """Deletes every key of a tenant, wherever it is among all keys; raises IndexAway."""
        cursor = "0"
        while True:
            ((cursor, found),) = await self._line.ask((
                "SCAN",
                cursor,
                "MATCH",
                every_key(tenant_id),
                "COUNT",
                MOST_VALUES,
            ))
            if found:
                await self._line.ask(("UNLINK", *found))
            if cursor == "0":
                return

    async def next_window_end(self, tenant_id: TenantId) -> datetime | None:
        """When the next window ends; raises IndexAway."""
        (found,) = await self._line.ask(("ZRANGE", window_key(tenant_id), 0, 0, "WITHSCORES"))
        return _EPOCH + int(found[1]) * _MICROSECOND if found else None

    async def began(self) -> str:
        """The server's run, and a mark that goes with everything else that is thrown away; raises IndexAway."""
        _, _, mark, info = await self._line.ask(
            ("SET", MARK, self._names(), "NX", "EX", _MARK_TTL),
            ("EXPIRE", MARK, _MARK_TTL),
            ("GET", MARK),
            ("INFO", "server"),
        )
        return f"{_run_id(info)} {mark}"

    async def close(self) -> None:
        """Ends every connection."""
        await self._line.close()

    def _calls(self, additions: Sequence[Addition], now: int) -> tuple[list[Call], list[list[int]]]:
        """As few calls as it takes, each of one tenant and not too long, and which additions are in each."""
        calls: list[Call] = []
        places: list[list[int]] = []
        latest: dict[TenantId, tuple[list[str | int], list[int]]] = {}
        for place, addition in enumerate(additions):
            values, named = latest.get(addition.tenant_id, ([], []))
            if not named or len(values) + 3 * len(addition.sightings) > MOST_VALUES:
                values, named = latest[addition.tenant_id] = ([now], [])
                calls.append(Call(script=ADD, key=window_key(addition.tenant_id), values=values))
                places.append(named)
            values += self._told(addition)
            named.append(place)
        return calls, places

    def _told(self, addition: Addition) -> list[str | int]:
        most, count = addition.limits.most, len(addition.sightings)
        told: list[str | int] = [addition.camera_id, addition.lane, *_spans(addition.limits), most, count]
        for sighting in addition.sightings:
            told += (sighting.detection_id, _micros(sighting.made_at), self._names())
        return told


@functools.lru_cache(maxsize=1024)
def _spans(limits: Limits) -> tuple[int, int, int]:
    """Window, idle time and reach, as exact as the pure rules have them."""
    window, idle = timedelta(seconds=limits.window), timedelta(seconds=limits.idle)
    return window // _MICROSECOND, idle // _MICROSECOND, limits.reach // _MICROSECOND


def _placed(tenant_id: TenantId, answer: Any) -> Placed:
    batch_ids, records = answer
    return Placed(batch_ids=tuple(batch_ids), sealed=tuple(_sealed(tenant_id, record) for record in records))


def _sealed(tenant_id: TenantId, record: Any) -> Sealed:
    batch_id, camera_id, started_at, first_made_at, closed_at, reason, detection_ids = record
    return Sealed(
        batch_id=BatchId(batch_id),
        tenant_id=tenant_id,
        camera_id=camera_id,
        detection_ids=tuple(map(int, detection_ids)),
        started_at=_moment(started_at),
        pipeline_start_time=_moment(first_made_at),
        closed_at=_moment(closed_at),
        reason=CloseReason(reason),
    )


def _run_id(info: str) -> str:
    return next((line for line in info.splitlines() if line.startswith("run_id:")), "")


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _moment(seconds: str) -> datetime:
    """Of seconds with six decimals; a float would round."""
    return _EPOCH + timedelta(microseconds=int(seconds.replace(".", "")))
