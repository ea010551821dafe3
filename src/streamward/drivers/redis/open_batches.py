"""The index of open batches in Redis: each verb is one script, so that each is all or nothing for everybody.

Guaranteed while Redis keeps what it has: what the port says, for any number of batchers at once, without a lock
(S2-25 to S2-28; docs/decisions/0016-no-locks-around-batches.md). Not guaranteed: that Redis keeps it. What it lost, the
database still has.

Times are judged by the `now` of the callers, in whole microseconds; only the lives of keys go by Redis's own clock.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from streamward.drivers.batch_names import Names, fresh
from streamward.drivers.redis.keys import Keys
from streamward.drivers.redis.line import Line, RedisServer
from streamward.drivers.redis.scripts import ADD, FORGET, SEAL_DUE, URGENT, Call, Script
from streamward.insight.batch import BatchId, CloseReason, Lane, Limits, Sealed, Sighting
from streamward.insight.store import CLOSING_FOR, Addition, Placed
from streamward.model.ids import CameraId, TenantId

KEY_TTL = 3600  # seconds: S2-18; longer for a batch that is due later
MARK = "batches:began"  # no tenant's

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_CLOSING_TTL = int(CLOSING_FOR.total_seconds())


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
        answers = await self._line.run([self._addition(addition, now) for addition in additions])
        return [_placed(each.tenant_id, answer) for each, answer in zip(additions, answers, strict=True)]

    async def add_urgent(
        self, tenant_id: TenantId, camera_id: CameraId, sighting: Sighting, *, now: datetime
    ) -> Placed:
        """A batch of one, sealed at once; raises IndexAway."""
        keys = Keys(tenant_id)
        told = (camera_id, sighting.detection_id, _micros(sighting.made_at), self._names())
        (answer,) = await self._line.run([_call(URGENT, keys, (keys.places(camera_id),), now, told)])
        return _placed(tenant_id, answer)

    async def seal_due(self, tenant_id: TenantId, *, now: datetime, limit: int) -> list[Sealed]:
        """Adopts what nobody closes, then seals what is due; raises IndexAway."""
        told = (limit, _micros(now - CLOSING_FOR))
        (answer,) = await self._line.run([_call(SEAL_DUE, Keys(tenant_id), (), now, told)])
        return [_sealed(tenant_id, record) for record in answer]

    async def forget(self, tenant_id: TenantId, batches: Sequence[Sealed]) -> None:
        """They are written down; raises IndexAway."""
        if batches:
            named = [batch.batch_id for batch in batches]
            await self._line.run([_call(FORGET, Keys(tenant_id), (), _EPOCH, named)])

    async def next_due(self, tenant_id: TenantId) -> datetime | None:
        """When the next is due, if nothing more comes; raises IndexAway."""
        due, _ = Keys(tenant_id).shared
        (found,) = await self._line.ask(("ZRANGE", due, 0, 0, "WITHSCORES"))
        return _EPOCH + int(found[1]) * _MICROSECOND if found else None

    async def began(self) -> str:
        """The server's run, and a mark that goes with everything else that is thrown away; raises IndexAway."""
        _, _, mark, info = await self._line.ask(
            ("SET", MARK, self._names(), "NX", "EX", KEY_TTL),
            ("EXPIRE", MARK, KEY_TTL),
            ("GET", MARK),
            ("INFO", "server"),
        )
        return f"{_run_id(info)} {mark}"

    async def close(self) -> None:
        """Ends every connection."""
        await self._line.close()

    def _addition(self, addition: Addition, now: datetime) -> Call:
        keys, limits = Keys(addition.tenant_id), addition.limits
        told: list[str | int] = [
            addition.camera_id,
            addition.lane,
            timedelta(seconds=limits.window) // _MICROSECOND,
            timedelta(seconds=limits.idle) // _MICROSECOND,
            limits.most,
        ]
        for sighting in addition.sightings:
            told += (sighting.detection_id, _micros(sighting.made_at), self._names())
        own = (*keys.lanes(addition.camera_id), keys.places(addition.camera_id))
        return _call(ADD, keys, own, now, told)


def _call(script: Script, keys: Keys, own: Sequence[str], now: datetime, told: Sequence[str | int]) -> Call:
    """With what every script is told first."""
    return Call(
        script=script,
        keys=(*keys.shared, *own),
        values=(keys.prefix, _micros(now), KEY_TTL, _CLOSING_TTL, *told),
    )


def _placed(tenant_id: TenantId, answer: Any) -> Placed:
    batch_ids, records = answer
    return Placed(batch_ids=tuple(batch_ids), sealed=tuple(_sealed(tenant_id, record) for record in records))


def _sealed(tenant_id: TenantId, record: Any) -> Sealed:
    batch_id, camera_id, started_at, closed_at, reason, detection_ids = record
    return Sealed(
        batch_id=BatchId(batch_id),
        tenant_id=tenant_id,
        camera_id=camera_id,
        detection_ids=tuple(map(int, detection_ids)),
        started_at=_moment(started_at),
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
