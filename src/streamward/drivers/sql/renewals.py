"""Renewals in SQL: all leases of a runner, and all runners that ask at the same time, in one statement.

A row that somebody else has locked is left out and reported busy, so that one stuck row never costs a runner its other
cameras.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Executable
from sqlalchemy.engine import Row

from streamward.drivers.sql.database import Database, Watch
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rule import LeaseRule
from streamward.drivers.sql.statement import Shape, statement
from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Kept, Named, Renewal, Renewed
from streamward.model.ids import CameraId, Generation

_CALLERS = ("caller", "runner_id", "incarnation")
_NAMED = ("caller", "camera_uuid", "generation", "ttl")

Ttls = Mapping[str, float]  # by camera: what was renewed


class Renewals:
    """Sends renewals of several runners to the database at once."""

    def __init__(self, database: Database, watch: Watch) -> None:
        self._db = database
        self._watch = watch
        self._renew = _renew(database.dialect)
        self._held = _held(database.dialect)
        self._renew_and_held = renew_and_held(database.dialect) if database.is_postgres else None

    async def send(self, renewals: Sequence[Renewal]) -> list[Renewed | Denied]:
        """The outcome of each, in their order."""
        look = self._watch.look()
        held, ttls = await self._sent(self._packed(renewals))
        self._watch.saw(look, held[0].now)
        by_caller: dict[int | None, list[Row[Any]]] = {}
        for row in held:
            by_caller.setdefault(row.caller, []).append(row)
        return [_outcome(renewal, by_caller.get(caller), ttls) for caller, renewal in enumerate(renewals)]

    async def _sent(self, params: dict[str, Any]) -> tuple[Sequence[Row[Any]], Ttls]:
        """What the callers hold, and what of it was renewed just now."""
        async with self._db.single() as connection:
            if self._renew_and_held is not None:
                held = (await connection.execute(self._renew_and_held, params)).all()
                return held, {row.camera_uuid: row.ttl for row in held if row.ttl is not None}
            params |= self._db.moment()
            renewed = (await connection.execute(self._renew, params)).all()
            held = (await connection.execute(self._held, params)).all()
            return held, {row.l_camera_uuid: row.l_ttl for row in renewed}

    def _packed(self, renewals: Sequence[Renewal]) -> dict[str, Any]:
        callers = [
            (caller, renewal.owner.runner_id, renewal.owner.incarnation) for caller, renewal in enumerate(renewals)
        ]
        named = [
            (caller, named.camera_id, named.generation, renewal.ttl)
            for caller, renewal in enumerate(renewals)
            for named in renewal.leases
        ]
        pack = self._db.dialect.pack
        return pack(_CALLERS, callers, alias="m") | pack(_NAMED, named)


def _outcome(renewal: Renewal, held: Sequence[Row[Any]] | None, ttls: Ttls) -> Renewed | Denied:
    if held is None:
        return Denied(DenialReason.INCARNATION_ENDED)
    by_id = {CameraId(row.camera_uuid): row for row in held if row.camera_uuid is not None}
    kept: list[Kept] = []
    lost: list[CameraId] = []
    busy: list[CameraId] = []
    for named in renewal.leases:
        row = by_id.get(named.camera_id)
        if row is None or not row.wanted or named.generation not in (None, row.generation):
            lost.append(named.camera_id)
        elif named.camera_id in ttls:
            kept.append(Kept(named.camera_id, row.generation, ttls[named.camera_id]))
        else:
            busy.append(named.camera_id)
    listed = {named.camera_id for named in renewal.leases}
    unlisted = [
        Named(camera_id, Generation(row.generation)) for camera_id, row in by_id.items() if camera_id not in listed
    ]
    return Renewed(at=held[0].now, kept=tuple(kept), lost=tuple(lost), busy=tuple(busy), unlisted=tuple(unlisted))


def _current(dialect: SqlDialect) -> str:
    """The callers whose incarnation is current."""
    return (
        f"SELECT m.* FROM {dialect.listed(*_CALLERS, alias='m')}"
        " JOIN runners AS r ON r.runner_id = m.runner_id AND r.incarnation = m.incarnation"
    )


def _changed(dialect: SqlDialect) -> str:
    rule = LeaseRule(dialect)
    return (
        f"UPDATE stream_leases AS l SET {rule.extended('coalesce(k.ttl, l.ttl)')}"
        f" FROM k, t WHERE l.camera_uuid = k.camera_uuid {dialect.returning('l', 'camera_uuid', 'ttl')}"
    )


def _tables(dialect: SqlDialect) -> str:
    """The callers, the leases to renew, locked, and the moment after that."""
    return (
        f"WITH current AS MATERIALIZED ({_current(dialect)}),"
        f" k AS MATERIALIZED (SELECT n.camera_uuid, n.ttl FROM {dialect.listed(*_NAMED)}"
        " JOIN current ON current.caller = n.caller JOIN stream_leases AS l ON l.camera_uuid = n.camera_uuid"
        " WHERE l.runner_id = current.runner_id AND l.incarnation = current.incarnation AND l.wanted"
        f" AND (n.generation IS NULL OR n.generation = l.generation) {dialect.locking('l', skip=True)}),"
        f" t AS MATERIALIZED ({dialect.now_after_locks})"
    )


def _renew(dialect: SqlDialect) -> Executable:
    return statement(f"{_tables(dialect)} {_changed(dialect)}", Shape("l", "camera_uuid ttl"))


def _held(dialect: SqlDialect) -> Executable:
    """All that the callers hold; at least one row."""
    return statement(
        f"WITH current AS MATERIALIZED ({_current(dialect)}), t AS ({dialect.now})"
        " SELECT t.now, current.caller, l.camera_uuid, l.generation, l.wanted FROM t LEFT JOIN current ON true"
        " LEFT JOIN stream_leases AS l ON l.runner_id = current.runner_id AND l.incarnation = current.incarnation",
        returns="now caller camera_uuid generation wanted",
    )


def renew_and_held(dialect: SqlDialect) -> Executable:
    """Both in one statement, as PostgreSQL can."""
    return statement(
        f"{_tables(dialect)}, changed AS ({_changed(dialect)})"
        " SELECT t.now, current.caller, l.camera_uuid, l.generation, l.wanted, changed.l_ttl AS ttl"
        " FROM t LEFT JOIN current ON true"
        " LEFT JOIN stream_leases AS l ON l.runner_id = current.runner_id AND l.incarnation = current.incarnation"
        " LEFT JOIN changed ON changed.l_camera_uuid = l.camera_uuid",
        returns="now caller camera_uuid generation wanted ttl",
    )
