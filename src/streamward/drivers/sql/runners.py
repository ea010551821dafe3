"""Runners in SQL. Whatever decides about a runner locks its row first, then its leases in the order of their ids."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from typing import Any

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.lease_statements import lock_runner
from streamward.drivers.sql.rows import runner_of
from streamward.drivers.sql.rule import MINE, TAKES_SLOT, LeaseRule
from streamward.drivers.sql.statement import RUNNER, Statement, statement
from streamward.leases.lease import DenialReason, Denied, Owner
from streamward.leases.store import SiteLoad
from streamward.model.ids import CameraId, RunnerId, SiteId
from streamward.model.runner import AS_STARTED, DEFAULT_CAPACITY, SILENT_AFTER, Making, Runner, RunnerSpec

_FIND = statement(f"SELECT {RUNNER.columns} FROM runners AS r WHERE r.runner_id = :runner_id", RUNNER)
_ALL = statement(f"SELECT {RUNNER.columns} FROM runners AS r ORDER BY r.runner_id", RUNNER)
_IS_CURRENT = "r.runner_id = :runner_id AND r.incarnation = :incarnation"
_FORGET = statement(f"UPDATE runners AS r SET incarnation = NULL WHERE {_IS_CURRENT}")


class RunnerStatements:
    """The statements that tell the time or lock."""

    def __init__(self, dialect: SqlDialect) -> None:
        rule = LeaseRule(dialect)
        now = f"({dialect.now})"
        runner = dialect.returning("r", *RUNNER.names)
        self.lock = lock_runner(dialect)
        self.make = statement(
            "INSERT INTO runners (runner_id, policy, capacity_streams, last_seen_at)"
            f" VALUES (:runner_id, :policy, :capacity, {now}) ON CONFLICT DO NOTHING"
        )
        self.use = statement(
            "INSERT INTO incarnations (runner_id, incarnation, registered_at)"
            f" VALUES (:runner_id, :incarnation, {now}) ON CONFLICT DO NOTHING RETURNING runner_id",
            returns="runner_id",
        )
        self.supersede = statement(
            f"UPDATE incarnations SET ended_at = {now}"
            " WHERE runner_id = :runner_id AND incarnation <> :incarnation AND ended_at IS NULL"
        )
        self.register = statement(
            "UPDATE runners AS r SET incarnation = :incarnation, tenant_id = :tenant_id, site_id = :site_id,"
            " policy = :policy, status = 'REGISTERED', capacity_streams = coalesce(:capacity, capacity_streams),"
            f" last_seen_at = {now}, answer_delay_s = NULL WHERE r.runner_id = :runner_id {runner}",
            RUNNER,
        )
        self.heartbeat = statement(
            f"UPDATE runners AS r SET last_seen_at = {now}, proven_make = :proven_make,"
            " tried_make = :tried_make, make_problem = :make_problem, answer_delay_s = :answer_delay_s"
            f" WHERE {_IS_CURRENT} {runner}",
            RUNNER,
        )
        self.end = statement(
            "INSERT INTO incarnations AS i (runner_id, incarnation, ended_at)"
            f" VALUES (:runner_id, :incarnation, {now}) ON CONFLICT (runner_id, incarnation)"
            " DO UPDATE SET ended_at = coalesce(i.ended_at, excluded.ended_at)"
        )
        self.let_all_go = rule.change(rule.found(MINE), assign=rule.released_with_all(), where=MINE)
        self.load = _load(dialect)


class SqlRunners:
    """The runner port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._runner_sql = RunnerStatements(database.dialect)

    async def register(self, spec: RunnerSpec) -> Runner | Denied:
        async with self._db.transaction() as tx:
            params = {**_spec(spec), **self._db.moment()}
            await tx.execute(self._runner_sql.make, {**params, "capacity": DEFAULT_CAPACITY})
            known = (await tx.execute(self._runner_sql.lock, params)).one()
            is_fresh = (await tx.execute(self._runner_sql.use, params)).one_or_none() is not None
            if not is_fresh and known.r_incarnation != spec.incarnation:
                await tx.rollback()  # takes the row of a runner that was not there back too
                return Denied(DenialReason.INCARNATION_ENDED)
            await tx.execute(self._runner_sql.supersede, params)
            return runner_of((await tx.execute(self._runner_sql.register, params)).one())

    async def end(self, owner: Owner) -> tuple[CameraId, ...]:
        async with self._db.transaction() as tx:
            params = {"runner_id": owner.runner_id, "incarnation": owner.incarnation, **self._db.moment()}
            await tx.execute(self._runner_sql.lock, params)
            await tx.execute(self._runner_sql.end, params)
            await tx.execute(_FORGET, params)
            floor = self._db.watch.look().view.floor
            freed = (await tx.execute(self._runner_sql.let_all_go, {**params, "floor": floor})).all()
        self._db.ring()
        return tuple(row.l_camera_uuid for row in freed)

    async def heartbeat(
        self, owner: Owner, making: Making = AS_STARTED, *, answer_delay: float | None = None
    ) -> Runner | Denied:
        params = {
            "runner_id": owner.runner_id,
            "incarnation": owner.incarnation,
            "proven_make": making.proven,
            "tried_make": making.tried,
            "make_problem": making.problem,
            "answer_delay_s": answer_delay,
        }
        async with self._db.single() as connection:
            row = (await connection.execute(self._runner_sql.heartbeat, {**params, **self._db.moment()})).one_or_none()
        return Denied(DenialReason.INCARNATION_ENDED) if row is None else runner_of(row)

    async def find_runner(self, runner_id: RunnerId) -> Runner | None:
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND, {"runner_id": runner_id})).one_or_none()
        return None if row is None else runner_of(row)

    async def runners(self) -> list[Runner]:
        async with self._db.single() as connection:
            return [runner_of(row) for row in (await connection.execute(_ALL)).all()]

    async def site_load(self, site_id: SiteId) -> SiteLoad:
        async with self._db.single() as connection:
            row = (await connection.execute(self._runner_sql.load, {"site_id": site_id, **self._db.moment()})).one()
        return SiteLoad(unowned=row.unowned, free_slots=row.free_slots, runners=row.runners, at=row.now)


def _spec(spec: RunnerSpec) -> dict[str, Any]:
    return {
        "runner_id": spec.runner_id,
        "incarnation": spec.incarnation,
        "tenant_id": spec.tenant_id,
        "site_id": spec.site_id,
        "policy": spec.policy,
        "capacity": spec.capacity,
    }


def _load(dialect: SqlDialect) -> Statement:
    """What a site needs, and what its healthy runners could still take."""
    return statement(
        f"WITH t AS MATERIALIZED ({dialect.now}),"
        " able AS MATERIALIZED (SELECT r.capacity_streams - (SELECT count(*) FROM stream_leases AS l"
        f" WHERE l.runner_id = r.runner_id AND l.incarnation = r.incarnation AND {TAKES_SLOT}) AS room"
        " FROM runners AS r CROSS JOIN t LEFT JOIN sites AS s ON s.site_id = :site_id"
        " WHERE r.incarnation IS NOT NULL AND NOT r.cordoned AND r.drain_mode = 'none'"
        f" AND {dialect.later('r.last_seen_at', str(SILENT_AFTER))} >= t.now"
        " AND (r.site_id IS NULL OR r.site_id = :site_id)"
        " AND (s.site_id IS NULL OR r.tenant_id IS NULL OR r.tenant_id = s.tenant_id))"
        " SELECT t.now, (SELECT count(*) FROM stream_leases AS l WHERE l.site_id = :site_id AND l.wanted"
        " AND l.state IN ('PENDING', 'ORPHANED')) AS unowned,"
        " (SELECT coalesce(sum(CASE WHEN room > 0 THEN room ELSE 0 END), 0) FROM able) AS free_slots,"
        " (SELECT count(*) FROM able) AS runners FROM t",
        returns="now unowned free_slots runners",
    )
