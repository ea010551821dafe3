"""Zone events in SQL."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from streamward.drivers.sql.admission import Admission, Table, plain
from streamward.drivers.sql.database import Database
from streamward.drivers.sql.listing import Listing, forgotten, tenants_in
from streamward.drivers.sql.statement import ZONE_EVENT, Shape, statement
from streamward.insight.records import Recent
from streamward.insight.zone_events import Crossed, Noted, ZoneEventRecord
from streamward.model.ids import TenantId
from streamward.model.zone import Crossing

_STEP = 1000  # rows of one statement, which must end within a statement's time
_LIST = Listing(f"SELECT {ZONE_EVENT.columns} FROM zone_events AS z", "z.zone_event_id", ZONE_EVENT)
_TENANTS = tenants_in("zone_events")


def _values(crossed: Crossed) -> tuple[object, ...]:
    return (
        crossed.happened_at,
        crossed.kind.value,
        crossed.zone,
        crossed.track_id,
        plain(crossed.label),
        crossed.stayed,
    )


def _new(_crossed: Crossed, zone_event_id: int, is_late: bool, made_at: datetime) -> Noted:
    return Noted(zone_event_id=zone_event_id, made_at=made_at, is_late=is_late, is_new=True)


def _known(row: Any, is_new: bool) -> Noted:
    return Noted(zone_event_id=row.z_zone_event_id, made_at=row.z_made_at, is_late=row.z_is_late, is_new=is_new)


_TABLE = Table(
    name="zone_events",
    number="zone_event_id",
    told=("happened_at", "type", "zone", "track_id", "label", "stayed_s"),
    values=_values,
    dated="happened_at",
    found=Shape("z", "zone_event_id event_id idx made_at is_late"),
    new=_new,
    known=_known,
)


class SqlZoneEvents:
    """The zone events on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._admission = Admission(database, _TABLE)
        dialect = database.dialect
        oldest = (
            "SELECT x.zone_event_id FROM zone_events AS x WHERE x.tenant_id = :tenant_id"
            " ORDER BY x.zone_event_id LIMIT :limit"
        )
        self._due = statement(
            f"WITH t AS MATERIALIZED ({dialect.now}), k AS MATERIALIZED (SELECT z.zone_event_id FROM zone_events AS z"
            f" CROSS JOIN t WHERE z.zone_event_id IN ({oldest}) AND z.stored_at < {dialect.later('t.now', '-:kept')}"
            f" ORDER BY z.zone_event_id {dialect.locking('z', skip=True)})"
            " DELETE FROM zone_events WHERE zone_event_id IN (SELECT k.zone_event_id FROM k) RETURNING zone_event_id",
            returns="zone_event_id",
        )

    async def admit(self, crossed: Sequence[Crossed]) -> tuple[Noted | None, ...]:
        noted, _ = await self._admission.admit(crossed)
        return noted

    async def page(self, wanted: Recent) -> list[ZoneEventRecord]:
        async with self._db.single() as connection:
            return [_record_of(row) for row in await _LIST.rows(connection, wanted)]

    async def prune(self, kept: Mapping[TenantId, float], *, otherwise: float, limit: int) -> int:
        async with self._db.single() as connection:
            tenants = (await connection.execute(_TENANTS)).scalars().all()
        return await forgotten(tenants, partial(self._forget, kept, otherwise), limit=limit, step=_STEP)

    async def _forget(self, kept: Mapping[TenantId, float], otherwise: float, tenant_id: TenantId, limit: int) -> int:
        params = {"tenant_id": tenant_id, "kept": kept.get(tenant_id, otherwise), "limit": limit}
        async with self._db.single() as connection:
            return len((await connection.execute(self._due, {**params, **self._db.moment()})).all())


def _record_of(row: Any) -> ZoneEventRecord:
    return ZoneEventRecord(
        zone_event_id=row.z_zone_event_id,
        event_id=row.z_event_id,
        index=row.z_idx,
        tenant_id=row.z_tenant_id,
        site_id=row.z_site_id,
        camera_id=row.z_camera_uuid,
        generation=row.z_generation,
        made_at=row.z_made_at,
        stamped_at=row.z_stamped_at,
        stored_at=row.z_stored_at,
        is_late=row.z_is_late,
        kind=Crossing(row.z_type),
        zone=row.z_zone,
        track_id=row.z_track_id,
        label=row.z_label,
        stayed=row.z_stayed_s,
    )
