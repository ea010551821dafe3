"""Renewals in SQL: all leases of a runner, and all runners that ask at the same time, in one statement.

A row that somebody else has locked is left out and reported busy, so that one stuck row never costs a runner its other
cameras.

This is the one call whose rate grows with the fleet: on PostgreSQL its answer is one row of arrays, straight from the
driver, which carried half as much again as rows through SQLAlchemy.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from streamward.drivers.sql.database import Database, Watch
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.rule import LeaseRule
from streamward.drivers.sql.statement import Shape, Statement, statement
from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Kept, Named, Renewal, Renewed
from streamward.model.ids import CameraId, Generation

_CALLERS = ("caller", "runner_id", "incarnation", "echo")
_NAMED = ("place", "caller", "camera_uuid", "generation", "ttl")

_IS_WANTED = "l.wanted AND l.ended_at IS NULL"

Held = tuple[int, CameraId]  # a caller, and a camera that it holds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sent:
    """What became of renewals in the database."""

    at: datetime
    current: frozenset[int]  # the callers that may renew at all
    kept: dict[Held, Kept]
    rest: dict[Held, tuple[Generation, bool]]  # held, but not renewed: the generation, and whether it is still its own

    def outcome(self, caller: int, renewal: Renewal) -> Renewed | Denied:
        if caller not in self.current:
            return Denied(DenialReason.INCARNATION_ENDED)
        kept: list[Kept] = []
        lost: list[CameraId] = []
        busy: list[CameraId] = []
        for named in renewal.leases:
            held = (caller, named.camera_id)
            found = self.kept.get(held)
            if found is not None and named.generation in (None, found.generation):
                kept.append(found)
            elif self._is_busy(held, named):
                busy.append(named.camera_id)
            else:
                lost.append(named.camera_id)
        unlisted = self._unlisted(caller, {named.camera_id for named in renewal.leases})
        return Renewed(at=self.at, kept=tuple(kept), lost=tuple(lost), busy=tuple(busy), unlisted=tuple(unlisted))

    def _is_busy(self, held: Held, named: Named) -> bool:
        generation, is_wanted = self.rest.get(held, (None, False))
        return is_wanted and named.generation in (None, generation)

    def _unlisted(self, caller: int, listed: set[CameraId]) -> Iterable[Named]:
        for (holder, camera_id), (generation, _) in self.rest.items():
            if holder == caller and camera_id not in listed:
                yield Named(camera_id, generation)


class PostgresRenewals:
    """Sends renewals of several runners to PostgreSQL at once."""

    def __init__(self, database: Database, watch: Watch) -> None:
        self._db = database
        self._watch = watch
        compiled = renew_and_list(database.dialect).compile(dialect=database.engine.dialect)
        self._sql = str(compiled)
        self._order = list(compiled.positiontup or ())

    async def send(self, renewals: Sequence[Renewal]) -> list[Renewed | Denied]:
        """The outcome of each, in their order."""
        callers, named = _listed(renewals)
        pack = self._db.dialect.pack
        params = pack(_CALLERS, callers, alias="m") | pack(_NAMED, named)
        async with self._db.single() as connection:
            driver: Any = (await connection.get_raw_connection()).driver_connection
            look = self._watch.look()
            self._db.tally.add()
            row = await driver.fetchrow(self._sql, *(params[name] for name in self._order))
            self._watch.saw(look, row["now"])
        sent = _Sent(
            at=row["now"],
            current=frozenset(row["current"] or ()),
            kept={
                (named[place][1], named[place][2]): Kept(named[place][2], generation, ttl)
                for place, generation, ttl in _columns(row, "places", "generations", "ttls")
            },
            rest={
                (caller, camera_id): (generation, is_wanted)
                for caller, camera_id, generation, is_wanted in _columns(
                    row, "rest_callers", "rest_cameras", "rest_generations", "rest_wanted"
                )
            },
        )
        return [sent.outcome(caller, renewal) for caller, renewal in enumerate(renewals)]


class SqliteRenewals:
    """Sends renewals to SQLite: a change, then a look at what is held."""

    def __init__(self, database: Database, watch: Watch) -> None:
        self._db = database
        self._watch = watch
        self._renew = _renew(database.dialect)
        self._list = _list(database.dialect)

    async def send(self, renewals: Sequence[Renewal]) -> list[Renewed | Denied]:
        """The outcome of each, in their order."""
        callers, named = _listed(renewals)
        pack = self._db.dialect.pack
        async with self._db.transaction() as tx:
            look = self._watch.look()
            params = pack(_CALLERS, callers, alias="m") | pack(_NAMED, named) | self._db.moment()
            renewed = (await tx.execute(self._renew, params)).all()
            held = (await tx.execute(self._list, params)).all()
            self._watch.saw(look, held[0].now)
        ttls = {row.l_camera_uuid: row.l_ttl for row in renewed}
        holding = [row for row in held if row.camera_uuid is not None]
        sent = _Sent(
            at=held[0].now,
            current=frozenset(row.caller for row in held if row.caller is not None),
            kept={
                (row.caller, row.camera_uuid): Kept(row.camera_uuid, row.generation, float(ttls[row.camera_uuid]))
                for row in holding
                if row.camera_uuid in ttls
            },
            rest={
                (row.caller, row.camera_uuid): (row.generation, row.wanted)
                for row in holding
                if row.camera_uuid not in ttls
            },
        )
        return [sent.outcome(caller, renewal) for caller, renewal in enumerate(renewals)]


def _listed(renewals: Sequence[Renewal]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The callers and what they name, each with its place in the list."""
    callers = [
        (caller, each.owner.runner_id, each.owner.incarnation, each.echo) for caller, each in enumerate(renewals)
    ]
    named = [
        (caller, each.camera_id, each.generation, renewal.ttl)
        for caller, renewal in enumerate(renewals)
        for each in renewal.leases
    ]
    return callers, [(place, *each) for place, each in enumerate(named)]


def _columns(row: Any, *names: str) -> Iterable[tuple[Any, ...]]:
    """Arrays of one row as rows; the array of nothing is NULL."""
    return zip(*(row[name] or () for name in names), strict=True)


def _current(dialect: SqlDialect) -> str:
    """The callers whose incarnation is current."""
    return (
        f"SELECT m.* FROM {dialect.listed(*_CALLERS, alias='m')}"
        " JOIN runners AS r ON r.runner_id = m.runner_id AND r.incarnation = m.incarnation"
    )


def _tables(dialect: SqlDialect) -> str:
    """The callers, the leases to renew, locked, and the moment after that."""
    return (
        f"WITH current AS MATERIALIZED ({_current(dialect)}),"
        # CROSS makes SQLite join in this order: from each row of the list to its lease, not the other way round.
        f" k AS MATERIALIZED (SELECT n.place, n.camera_uuid, n.ttl, current.echo FROM {dialect.listed(*_NAMED)}"
        " CROSS JOIN current CROSS JOIN stream_leases AS l"
        " WHERE current.caller = n.caller AND l.camera_uuid = n.camera_uuid"
        f" AND l.runner_id = current.runner_id AND l.incarnation = current.incarnation AND {_IS_WANTED}"
        f" AND (n.generation IS NULL OR n.generation = l.generation) {dialect.locking('l', skip=True)}),"
        f" t AS MATERIALIZED ({dialect.now_after_locks})"
    )


def _extend(dialect: SqlDialect) -> str:
    rule = LeaseRule(dialect)
    return (
        f"UPDATE stream_leases AS l SET {rule.extended('coalesce(k.ttl, l.ttl)')} FROM k, t"
        f" WHERE l.camera_uuid = k.camera_uuid AND {rule.echo_fits('k.echo')}"
    )


def _renew(dialect: SqlDialect) -> Statement:
    returning = dialect.returning("l", "camera_uuid", "ttl")
    return statement(f"{_tables(dialect)} {_extend(dialect)} {returning}", Shape("l", "camera_uuid ttl"))


def _list(dialect: SqlDialect) -> Statement:
    """All that the callers hold; at least one row."""
    return statement(
        f"WITH current AS MATERIALIZED ({_current(dialect)}), t AS ({dialect.now})"
        f" SELECT t.now, current.caller, l.camera_uuid, l.generation, {_IS_WANTED} AS wanted"
        " FROM t LEFT JOIN current ON true"
        " LEFT JOIN stream_leases AS l ON l.runner_id = current.runner_id AND l.incarnation = current.incarnation",
        returns="now caller camera_uuid generation wanted",
    )


def renew_and_list(dialect: SqlDialect) -> Statement:
    """One row of arrays: what was renewed, by its place in the list, and what is held besides."""
    return statement(
        f"{_tables(dialect)}, changed AS ({_extend(dialect)} RETURNING k.place, l.camera_uuid, l.generation, l.ttl),"
        " kept AS (SELECT array_agg(place) AS places, array_agg(generation) AS generations, array_agg(ttl) AS ttls"
        " FROM changed),"
        " rest AS (SELECT array_agg(current.caller) AS rest_callers, array_agg(l.camera_uuid) AS rest_cameras,"
        f" array_agg(l.generation) AS rest_generations, array_agg({_IS_WANTED}) AS rest_wanted"
        " FROM current JOIN stream_leases AS l"
        " ON l.runner_id = current.runner_id AND l.incarnation = current.incarnation"
        " WHERE NOT EXISTS (SELECT FROM changed WHERE changed.camera_uuid = l.camera_uuid))"
        " SELECT t.now, ARRAY(SELECT current.caller FROM current) AS current, kept.*, rest.*"
        " FROM t CROSS JOIN kept CROSS JOIN rest"
    )
