"""Handovers in SQL: the rule decides on what is on offer, and what it gives is written if no other heir was quicker."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import SqlDialect
from streamward.drivers.sql.lease_statements import handover_counts
from streamward.drivers.sql.leases import SqlLeases, wanted_by
from streamward.drivers.sql.rows import camera_of, handover_of, lease_of, runner_of
from streamward.drivers.sql.rule import TAKES_SLOT
from streamward.drivers.sql.session import Session
from streamward.drivers.sql.statement import CAMERA, HANDOVER, LEASE, RUNNER, Statement, statement
from streamward.leases import eligibility, handover, placement, rebalance
from streamward.leases.handover import MOVED_WITHIN, SETTLES_FOR, Handover, HandoverAsk, HandoversTold, Offer
from streamward.leases.lease import NEVER
from streamward.leases.placement import Slots
from streamward.leases.rebalance import Rebalance, RebalanceAsk
from streamward.model.runner import Runner

_ROW = HANDOVER.names
_RUNNERS = statement(f"SELECT {RUNNER.columns} FROM runners AS r ORDER BY r.runner_id", RUNNER)
_FIND = statement(f"SELECT {RUNNER.columns} FROM runners AS r WHERE r.runner_id = :runner_id", RUNNER)


class HandoverStatements:
    """The statements, in one database's spelling."""

    def __init__(self, dialect: SqlDialect) -> None:
        drained = "r.drain_mode = 'soft'"
        moves = f"h.deadline IS NOT NULL AND h.generation = l.generation AND {handover_counts(dialect, 't.now')}"
        self.offers = _held(dialect, where=f"l.wanted AND l.ended_at IS NULL AND ({drained} OR {moves})")
        self.held = _held(dialect, where="true")
        self.forget = statement(
            f"DELETE FROM handovers AS h WHERE NOT ({handover_counts(dialect, ':at')})"
            f" AND NOT ({_settles(dialect, ':at')}) RETURNING camera_uuid",
            returns="camera_uuid",
        )
        self.save = statement(
            f"INSERT INTO handovers AS h ({', '.join(_ROW)})"
            f" SELECT {', '.join(f'n.{name}' for name in _ROW)} FROM {dialect.listed(*_ROW)} WHERE true"
            f" ON CONFLICT (camera_uuid) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in _ROW[1:])}"
            f" WHERE NOT ({handover_counts(dialect, ':at')}) OR h.generation <> excluded.generation"
            " OR h.runner_id = excluded.runner_id AND h.incarnation = excluded.incarnation RETURNING camera_uuid",
            returns="camera_uuid",
        )


class SqlHandovers(SqlLeases):
    """The handover port on a `Database`, beside its leases."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._handover_sql = HandoverStatements(database.dialect)

    async def hand_over(self, ask: HandoverAsk) -> HandoversTold:
        async with self._db.session() as session:
            now, offers = await self._offers(session, self._handover_sql.offers)
            if not offers:
                return HandoversTold()
            runners = await session.rows(_FIND, {"runner_id": ask.owner.runner_id})
            runner = runner_of(runners[0]) if runners else None
            if runner is None or eligibility.refusal(runner, ask.owner):
                return HandoversTold()
            changed = await self._changed(session, ask, runner, offers, now=now)
            if changed:
                await session.rows(self._handover_sql.forget, {"at": now})
                await session.rows(self._handover_sql.save, {**self._packed(changed), "at": now})
                now, offers = await self._offers(session, self._handover_sql.offers)
        return handover.told(ask, offers, now)

    async def rebalance(self, ask: RebalanceAsk) -> Rebalance:
        async with self._db.session() as session:
            now, held = await self._offers(session, self._handover_sql.held)
            runners = [runner_of(row) for row in await session.rows(_RUNNERS)]
            planned = rebalance.plan(runners, held, ask, now=now)
            if ask.dry_run or not planned.moves:
                return planned
            await session.rows(self._handover_sql.forget, {"at": now})
            handovers = [rebalance.handover_of(move, now) for move in planned.moves]
            saved = await session.rows(self._handover_sql.save, {**self._packed(handovers), "at": now})
        written = {row.camera_uuid for row in saved}  # not those that got another successor meanwhile
        return replace(planned, moves=tuple(move for move in planned.moves if move.camera_id in written))

    async def _offers(self, session: Session, asked: Statement) -> tuple[datetime, list[Offer]]:
        rows = await session.rows(asked, self._db.moment())
        offers = []
        for row in rows:
            lease = lease_of(row)
            assert lease.owner is not None
            offers.append(
                Offer(camera=camera_of(row), generation=lease.generation, owner=lease.owner, handover=handover_of(row))
            )
        return (rows[0].now if rows else NEVER), offers

    async def _changed(
        self, session: Session, ask: HandoverAsk, runner: Runner, offers: Sequence[Offer], *, now: datetime
    ) -> list[Handover]:
        """What is to be written down; one that merely goes on only now and then."""
        share = await self._share_of_offers(session, runner, len(offers)) if runner.takes_leases and ask.room else 0
        planned = handover.plan(
            ask, offers, share=share, suits=lambda camera: eligibility.mismatch(runner, camera) is None, now=now
        )
        known = {offer.camera.camera_id: offer.handover for offer in offers}
        return [each for each in planned if each.is_news(known[each.camera_id])]

    async def _share_of_offers(self, session: Session, runner: Runner, free: int) -> int:
        [mine] = await session.rows(self._lease_sql.held, wanted_by(runner))
        rivals = await session.rows(self._lease_sql.rivals, {**wanted_by(runner), **self._db.moment()})
        slots = Slots(held=mine.held, capacity=runner.capacity)
        return placement.share(slots, (Slots(each.held, each.capacity_streams) for each in rivals), free=free)

    def _packed(self, handovers: Sequence[Handover]) -> dict[str, object]:
        rows = [
            (
                each.camera_id,
                each.generation,
                each.heir.runner_id,
                each.heir.incarnation,
                each.stage,
                each.until,
                each.deadline,
            )
            for each in handovers
        ]
        return self._db.dialect.pack(_ROW, rows)


def _settles(dialect: SqlDialect, now: str) -> str:
    """`Handover.settles`, of whichever grant."""
    earliest, latest = dialect.later(now, str(MOVED_WITHIN - SETTLES_FOR)), dialect.later(now, str(MOVED_WITHIN))
    return f"h.deadline IS NOT NULL AND h.deadline > {earliest} AND h.deadline <= {latest}"


def _held(dialect: SqlDialect, *, where: str) -> Statement:
    """What takes a slot at a runner's present incarnation, and who may watch it."""
    return statement(
        f"WITH t AS MATERIALIZED ({dialect.now})"
        f" SELECT t.now, {LEASE.columns}, {CAMERA.columns}, {HANDOVER.columns} FROM runners AS r CROSS JOIN t"
        " JOIN stream_leases AS l ON l.runner_id = r.runner_id AND l.incarnation = r.incarnation"
        " JOIN cameras AS c ON c.camera_uuid = l.camera_uuid"
        " LEFT JOIN handovers AS h ON h.camera_uuid = l.camera_uuid"
        f" WHERE {TAKES_SLOT} AND {where} ORDER BY l.camera_uuid",
        LEASE,
        CAMERA,
        HANDOVER,
        returns="now",
    )
