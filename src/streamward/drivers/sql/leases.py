"""Leases in SQL: each change one conditional statement on database time.

Acquiring locks the runner's row first, so that its capacity and its incarnation hold until the lease is written: two
acquires of one runner come one after the other, and none comes after its end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy.engine import Row

from streamward.drivers.sql.database import Database, Look
from streamward.drivers.sql.edit_statements import RecordStatements, noted
from streamward.drivers.sql.lease_statements import LET_GO, NEXT_EXPIRY, ORPHANS, TAKEN, LeaseStatements
from streamward.drivers.sql.merger import Merger
from streamward.drivers.sql.renewals import PostgresRenewals, SqliteRenewals
from streamward.drivers.sql.rows import camera_of, lease_of, policy_of, runner_of
from streamward.drivers.sql.session import Session
from streamward.drivers.sql.statement import Statement
from streamward.drivers.sql.waves import waves
from streamward.leases import eligibility, placement
from streamward.leases.lease import DenialReason, Denied, Owner, echo_fits
from streamward.leases.placement import FreeCamera, Slots
from streamward.leases.policy import Terms, applied
from streamward.leases.store import Claim, Granted, Lapse, Named, OpenClaim, Orphan, Renewal, Renewed
from streamward.model.ids import CameraId, Generation
from streamward.model.register import Note
from streamward.model.runner import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A runner gives back what it holds."""

    owner: Owner
    leases: tuple[Named, ...]


class SqlLeases:
    """The lease port on a `Database`."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._lease_sql = LeaseStatements(database.dialect)
        self._audit_sql = RecordStatements(database.dialect).audit
        self._watch = database.watch
        renewals = PostgresRenewals if database.is_postgres else SqliteRenewals
        self._renewals = Merger(
            renewals(database, self._watch).send, keys=lambda renewal: (renewal.owner.runner_id,), flights=2
        )
        # One at a time: PostgreSQL lets only one transaction commit at a time that wakes waiters.
        self._releases = Merger(
            self._let_go, keys=lambda release: [named.camera_id for named in release.leases], flights=1
        )

    async def acquire(self, claim: Claim) -> Granted | Denied:
        async with self._db.session() as session:
            look = self._watch.look()
            asked = {"camera_uuid": claim.camera_id, **owned_by(claim.owner), **self._db.moment()}
            rows = await session.rows(self._lease_sql.look_at, asked)
            if not rows:
                return await self._deny_stranger(session, claim.camera_id)
            [row] = rows
            runner = runner_of(row)
            terms = self._terms(runner, row, ttl=claim.ttl)
            denial = _denial(claim, row, terms, look=look)
            taken: dict[CameraId, Row[Any]] = {}
            if denial is None:
                taken = await self._take(session, runner, {claim.camera_id: terms}, echo=claim.echo, wait=True)
        if not taken:  # without a reason: somebody else was quicker by a moment
            self._watch.saw(look, row.now)
            return denial or Denied(DenialReason.HELD)
        return _granted({claim.camera_id: row}, taken, before={claim.camera_id: row.l_generation}, at=row.now)

    async def acquire_free(self, claim: OpenClaim) -> Granted | Denied:
        async with self._db.session() as session:
            runner = await self._lock_runner(session, claim.owner)
            look = self._watch.look()
            if runner is None or not runner.takes_leases or eligibility.refusal(runner, claim.owner):
                self._watch.saw(look, await self._db.now(session))
                return eligibility.refusal(runner, claim.owner) or Denied(DenialReason.RUNNER_CORDONED)
            rows = await self._look_for_free(session, runner, claim, look=look)
            if not echo_fits(claim.echo, ttl=self._db.policies[runner.policy].ttl, now=rows[0].now):
                self._watch.saw(look, rows[0].now)
                return Denied(DenialReason.BUSY)
            room = min(claim.limit, runner.capacity - rows[0].held)
            chosen = _chosen(rows, min(room, await self._share(session, runner, claim, rows[0])))
            terms = {camera_id: self._terms(runner, row) for camera_id, row in chosen.items()}
            taken = await self._take(session, runner, terms, echo=claim.echo, wait=False)
        if not taken:
            self._watch.saw(look, rows[0].now)
        before = {camera_id: row.generation for camera_id, row in chosen.items()}
        more = len(taken) < min(rows[0].free, room)
        return _granted(chosen, taken, before=before, at=rows[0].now, more=more)

    async def renew(self, renewal: Renewal) -> Renewed | Denied:
        return await self._renewals.ask(renewal)

    async def release(self, owner: Owner, leases: Sequence[Named]) -> tuple[CameraId, ...]:
        released: set[int] = set()
        for wave in waves(enumerate(leases), key=lambda each: each[1].camera_id):
            freed = await self._release(Release(owner=owner, leases=tuple(named for _, named in wave)))
            released |= {place for place, named in wave if named.camera_id in freed}
        if not leases:
            await self._observe()
        return tuple(named.camera_id for place, named in enumerate(leases) if place in released)

    async def lapse(self) -> Lapse:
        seen_at, jumped = await self._observe()
        orphaned = await self._change(self._lease_sql.orphan, {"seen_at": seen_at})
        async with self._db.session(is_single=True) as session:
            [soonest] = await session.rows(NEXT_EXPIRY)
        next_expiry: datetime | None = soonest.expires_at
        return Lapse(
            orphaned=tuple(orphaned),
            next_expiry_in=None if next_expiry is None else (next_expiry - seen_at).total_seconds(),
            clock_jumped=jumped,
        )

    async def orphans(self) -> list[Orphan]:
        async with self._db.session(is_single=True) as session:
            rows = await session.rows(ORPHANS)
        return [
            Orphan(
                camera_id=row.l_camera_uuid,
                generation=row.l_generation,
                site_id=row.site_id,
                expires_at=row.l_expires_at,
                soft_for=row.l_soft_for,
            )
            for row in rows
        ]

    async def reclaim(self, camera_id: CameraId, generation: Generation, *, note: Note | None = None) -> bool:
        params = self._db.dialect.pack(("camera_uuid", "generation"), [(camera_id, generation)])
        if note is None:
            return bool(await self._change(self._lease_sql.reclaim, params))
        look = self._watch.look()
        async with self._db.transaction() as tx:
            freed = (await tx.execute(self._lease_sql.reclaim, {**params, **look.terms, **self._db.moment()})).all()
            if freed:
                await tx.execute(self._audit_sql, {**noted(note, self._db.dialect), **self._db.moment()})
        if freed:
            self._db.ring()
        return bool(freed)

    def _terms(self, runner: Runner, row: Row[Any], *, ttl: float | None = None) -> Terms:
        site = policy_of(row.site_policy)
        return applied(runner=runner.policy, site=site, policies=self._db.policies).terms(ttl)

    async def _deny_stranger(self, session: Session, camera_id: CameraId) -> Denied:
        """A runner that nobody knows gets nothing; it is told first of a camera that nobody knows."""
        look = self._watch.look()
        params = {"camera_uuid": camera_id, **self._db.moment()}
        [row] = await session.rows(self._lease_sql.is_known, params)
        self._watch.saw(look, row.now)
        return Denied(DenialReason.CAMERA_UNKNOWN if row.camera_uuid is None else DenialReason.INCARNATION_ENDED)

    async def _lock_runner(self, session: Session, owner: Owner) -> Runner | None:
        rows = await session.rows(self._lease_sql.lock_runner, {"runner_id": owner.runner_id})
        return runner_of(rows[0]) if rows else None

    async def _look_for_free(
        self, session: Session, runner: Runner, claim: OpenClaim, *, look: Look
    ) -> Sequence[Row[Any]]:
        """One row for each free camera, at most as many as asked for, and at least one row."""
        params = {
            "limit": max(claim.limit, 0),
            "echo": claim.echo,
            **wanted_by(runner),
            **look.terms,
            **self._db.moment(),
        }
        return await session.rows(self._lease_sql.look_for_free, params)

    async def _share(self, session: Session, runner: Runner, claim: OpenClaim, row: Row[Any]) -> int:
        """How many it may take of what is free, for all that others could."""
        if claim.beyond_share or not row.free:
            return int(row.free)
        rivals = await session.rows(self._lease_sql.rivals, {**wanted_by(runner), **self._db.moment()})
        mine = Slots(held=row.held, capacity=runner.capacity)
        return placement.share(mine, (Slots(each.held, each.capacity_streams) for each in rivals), free=row.free)

    async def _take(
        self,
        session: Session,
        runner: Runner,
        terms: Mapping[CameraId, Terms],
        *,
        echo: datetime | None,
        wait: bool,
    ) -> dict[CameraId, Row[Any]]:
        """Grants what is still free of these; of those locked by somebody else none, unless it may wait."""
        if not terms:
            return {}
        look = self._watch.look()
        params = {
            **self._db.dialect.pack(TAKEN, [(camera_id, each.ttl, each.soft_for) for camera_id, each in terms.items()]),
            **wanted_by(runner),
            "capacity": runner.capacity,
            "asked": len(terms),
            "echo": echo,
            **look.terms,
            **self._db.moment(),
        }
        rows = await session.rows(self._lease_sql.take if wait else self._lease_sql.take_free, params)
        if rows:
            self._watch.saw(look, rows[0].l_updated_at)
        return {row.l_camera_uuid: row for row in rows}

    async def _release(self, release: Release) -> set[CameraId]:
        """Frees with others what nobody has locked; waits by itself for the rest, if that is the owner's at all."""
        freed = await self._releases.ask(release)
        rest = tuple(named for named in release.leases if named.camera_id not in freed)
        if rest:
            freed |= set(await self._change(self._lease_sql.let_go, self._listed([replace(release, leases=rest)])))
        return freed

    async def _let_go(self, releases: Sequence[Release]) -> list[set[CameraId]]:
        """What was freed of each; no two name the same camera."""
        freed = await self._change(self._lease_sql.let_go_unlocked, self._listed(releases))
        return [{named.camera_id for named in release.leases}.intersection(freed) for release in releases]

    def _listed(self, releases: Sequence[Release]) -> dict[str, Any]:
        rows = [
            (named.camera_id, each.owner.runner_id, each.owner.incarnation, named.generation, named.made_until)
            for each in releases
            for named in each.leases
        ]
        return self._db.dialect.pack(LET_GO, rows)

    async def _change(self, change: Statement, params: Mapping[str, Any]) -> list[CameraId]:
        """Frees leases; returns which."""
        async with self._db.session(is_single=True) as session:
            look = self._watch.look()
            rows = await session.rows(change, {**params, **look.terms, **self._db.moment()})
            self._watch.saw(look, rows[0].l_updated_at if rows else await self._db.now(session))
        if rows:
            self._db.ring()
        return [row.l_camera_uuid for row in rows]

    async def _observe(self) -> tuple[datetime, bool]:
        """The database's time, and whether its clock jumped."""
        async with self._db.session(is_single=True) as session:
            look = self._watch.look()
            now = await self._db.now(session)
        return now, self._watch.saw(look, now)


def owned_by(owner: Owner) -> dict[str, str]:
    """The owner as parameters."""
    return {"runner_id": owner.runner_id, "incarnation": owner.incarnation}


def wanted_by(runner: Runner) -> dict[str, str | None]:
    """What may go to a runner, as parameters."""
    return {
        "runner_id": runner.runner_id,
        "incarnation": runner.incarnation,
        "tenant_id": runner.tenant_id,
        "site_id": runner.site_id,
    }


def _denial(claim: Claim, row: Row[Any], terms: Terms, *, look: Look) -> Denied | None:
    """Why this owner does not get the camera that the row shows."""
    if row.c_camera_uuid is None:
        return Denied(DenialReason.CAMERA_UNKNOWN)
    runner, owner = runner_of(row), claim.owner
    if denial := eligibility.refusal(runner, owner):
        return denial
    if denial := eligibility.mismatch(runner, camera_of(row)):
        return denial
    lease = lease_of(row)
    if not lease.belongs_to(owner) and (denial := eligibility.unfit(runner, slots_used=row.held)):
        return denial
    outcome = lease.acquire(owner, terms, now=row.now, clock=look.view, echo=claim.echo)
    return outcome if isinstance(outcome, Denied) else None


def _chosen(rows: Sequence[Row[Any]], limit: int) -> dict[CameraId, Row[Any]]:
    """What a runner takes of what it was shown, best first."""
    by_id = {CameraId(row.c_camera_uuid): row for row in rows if row.c_camera_uuid is not None}
    free = [
        FreeCamera(camera_id=camera_id, site_id=row.c_site_id, free_since=row.free_since)
        for camera_id, row in by_id.items()
    ]
    served = {row.c_site_id for row in by_id.values() if row.is_served}
    return {each.camera_id: by_id[each.camera_id] for each in placement.choose(free, served=served, limit=limit)}


def _granted(
    seen: Mapping[CameraId, Row[Any]],
    taken: Mapping[CameraId, Row[Any]],
    *,
    before: Mapping[CameraId, Generation],
    at: datetime,
    more: bool = False,
) -> Granted:
    """The answer, in the order in which the cameras were chosen."""
    leases = tuple(
        (lease_of(taken[camera_id]), camera_of(row)) for camera_id, row in seen.items() if camera_id in taken
    )
    return Granted(
        leases=leases,
        at=next((row.l_updated_at for row in taken.values()), at),
        more=more,
        changed=tuple(lease.camera_id for lease, _ in leases if lease.generation > before[lease.camera_id]),
    )
