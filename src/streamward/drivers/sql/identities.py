"""One-time codes and identities in SQL; people's edits of them are made by `edits`."""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.edits import SqlEdits
from streamward.drivers.sql.register import paged
from streamward.drivers.sql.rows import identity_of, invitation_of
from streamward.drivers.sql.session import EngineSession
from streamward.drivers.sql.statement import IDENTITY, IN_SCOPE, INVITATION, statement
from streamward.model.identity import Author, Identity, Invitation, Role
from streamward.model.ids import TenantId
from streamward.model.register import Doubt, Edit, Edited, NotEdited, Page, Redemption, redeemed

_INVITATIONS = f"SELECT {INVITATION.columns} FROM invitations AS v WHERE {IN_SCOPE.format('v')}"
_IDENTITIES = f"SELECT {IDENTITY.columns} FROM identities AS i WHERE {IN_SCOPE.format('i')}"
_FIND_INVITATION = statement(f"{_INVITATIONS} AND v.invitation_id = :invitation_id", INVITATION)
_FIND_IDENTITY = statement(f"{_IDENTITIES} AND i.identity_id = :identity_id", IDENTITY)
_LIST_IDENTITIES = statement(
    f"{_IDENTITIES} AND i.subject = coalesce(:subject, i.subject) AND i.identity_id > coalesce(:after, '')"
    " ORDER BY i.identity_id LIMIT :limit",
    IDENTITY,
)
_GIVEN = statement(
    f"SELECT {IDENTITY.columns} FROM identities AS i JOIN invitations AS v ON v.subject = i.subject"
    " WHERE v.code_hash = :code_hash AND v.used_at IS NOT NULL"
    " AND i.identity_id = :identity_id AND i.public_key = :public_key AND i.revoked_at IS NULL",
    IDENTITY,
)
_LIVE_OF = statement(
    f"SELECT {IDENTITY.columns} FROM identities AS i WHERE i.subject = :subject AND i.role = 'runner'"
    " AND coalesce(i.tenant_id, '') = coalesce(:tenant_id, '') AND i.revoked_at IS NULL",
    IDENTITY,
)
_ADMINS = statement(
    "SELECT EXISTS (SELECT 1 FROM identities AS i WHERE i.role = 'admin' AND i.tenant_id IS NULL"
    " AND i.revoked_at IS NULL) AS is_live",
    returns="is_live",
)
_DOUBTS = statement(
    "SELECT i.identity_id, i.revision, i.subject, i.tenant_id, i.role, i.revoked_at,"
    " EXISTS (SELECT 1 FROM identities AS j"
    " WHERE j.subject = i.subject AND coalesce(j.tenant_id, '') = coalesce(i.tenant_id, '')"
    " AND (j.role = 'runner') = (i.role = 'runner') AND j.revoked_at IS NULL) AS is_live"
    " FROM identities AS i WHERE i.revision > 1 OR i.revoked_at IS NOT NULL",
    returns="identity_id revision subject tenant_id role revoked_at is_live",
)


class SqlIdentities(SqlEdits):
    """The identity port on a `Database`."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        dialect = database.dialect
        now = f"({dialect.now})"
        self._open_sql = statement(
            f"{_INVITATIONS} AND v.used_at IS NULL AND v.expires_at > {now} AND v.invitation_id > coalesce(:after, '')"
            " AND v.role = coalesce(:role, v.role) AND v.subject = coalesce(:subject, v.subject)"
            " ORDER BY v.invitation_id LIMIT :limit",
            INVITATION,
        )
        self._known_codes_sql = statement(
            f"SELECT v.code_hash FROM {dialect.listed('code_hash')} JOIN invitations AS v ON v.code_hash = n.code_hash",
            returns="code_hash",
        )
        self._proving_sql = statement(
            f"SELECT {IDENTITY.columns} FROM {dialect.listed('identity_id')}"
            " JOIN identities AS i ON i.identity_id = n.identity_id",
            IDENTITY,
        )
        self._use_sql = statement(
            f"UPDATE invitations AS v SET used_at = {now}, updated_at = {now}, revision = v.revision + 1"
            f" WHERE v.code_hash = :code_hash AND v.used_at IS NULL AND v.expires_at > {now}"
            " AND (v.tenant_id IS NULL OR EXISTS (SELECT 1 FROM tenants AS e WHERE e.tenant_id = v.tenant_id))"
            f" {dialect.returning('v', *INVITATION.names)}",
            INVITATION,
        )

    async def invitations(
        self, page: Page, *, role: Role | None = None, subject: str | None = None
    ) -> list[Invitation]:
        params = {**paged(page), "role": role, "subject": subject, **self._db.moment()}
        async with self._db.single() as connection:
            found = await connection.execute(self._open_sql, params)
            return [invitation_of(row) for row in found.all()]

    async def find_invitation(self, invitation_id: str, *, scope: TenantId | None) -> Invitation | None:
        params = {"invitation_id": invitation_id, "scope": scope}
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_INVITATION, params)).one_or_none()
        return None if row is None else invitation_of(row)

    async def known_codes(self, code_hashes: Collection[str]) -> set[str]:
        params = self._db.dialect.pack(["code_hash"], [[each] for each in code_hashes])
        async with self._db.single() as connection:
            return {row.code_hash for row in (await connection.execute(self._known_codes_sql, params)).all()}

    async def redeem(self, redemption: Redemption) -> Identity | None:
        async with self._db.transaction() as tx:
            params = {"code_hash": redemption.code_hash, **self._db.moment()}
            used = (await tx.execute(self._use_sql, params)).one_or_none()
            if used is None:
                return await self._given_before(tx, redemption)
            given = await self._give(tx, invitation_of(used), redemption)
            if given is None:
                await tx.rollback()
        self._db.ring()
        return given

    async def identities(self, page: Page, *, subject: str | None = None) -> list[Identity]:
        async with self._db.single() as connection:
            found = await connection.execute(_LIST_IDENTITIES, {**paged(page), "subject": subject})
            return [identity_of(row) for row in found.all()]

    async def find_identity(self, identity_id: str, *, scope: TenantId | None) -> Identity | None:
        params = {"identity_id": identity_id, "scope": scope}
        async with self._db.single() as connection:
            row = (await connection.execute(_FIND_IDENTITY, params)).one_or_none()
        return None if row is None else identity_of(row)

    async def proving(self, identity_ids: Collection[str]) -> dict[str, Identity]:
        params = self._db.dialect.pack(["identity_id"], [[each] for each in identity_ids])
        async with self._db.single() as connection:
            found = await connection.execute(self._proving_sql, params)
            return {each.identity_id: each for each in map(identity_of, found.all())}

    async def has_admin(self) -> bool:
        async with self._db.single() as connection:
            return bool((await connection.execute(_ADMINS)).scalar_one())

    async def doubts(self) -> list[Doubt]:
        async with self._db.single() as connection:
            return [
                Doubt(
                    identity_id=row.identity_id,
                    revision=row.revision,
                    is_live=row.revoked_at is None,
                    subject=row.subject,
                    tenant_id=row.tenant_id,
                    is_runner=row.role == Role.RUNNER,
                    has_heir=row.is_live,
                )
                for row in (await connection.execute(_DOUBTS)).all()
            ]

    async def _give(self, tx: AsyncConnection, code: Invitation, redemption: Redemption) -> Identity | None:
        """A new identity; a runner has one at a time, so that the key of a machine that was lost is worth nothing.

        An index holds to that whoever comes at the same moment, and whoever comes for another tenant: they get None.
        """
        fresh, author = redeemed(code, redemption)
        if code.role is Role.RUNNER and isinstance(await self._replace(tx, code, author=author), NotEdited):
            return None
        outcome = await self.apply(tx, [Edit(after=fresh)], author=author)
        given = outcome.things[0] if isinstance(outcome, Edited) else None
        return given if isinstance(given, Identity) else None

    async def _replace(self, tx: AsyncConnection, code: Invitation, *, author: Author) -> Edited | NotEdited:
        """Revokes the identity that a runner has."""
        now = await self._db.now(EngineSession(tx))
        found = await tx.execute(_LIVE_OF, {"subject": code.subject, "tenant_id": code.tenant_id})
        old = [identity_of(row) for row in found.all()]
        edits = [Edit(before=each, after=replace(each, revoked_at=now)) for each in old]
        return await self.apply(tx, edits, author=author)

    async def _given_before(self, tx: AsyncConnection, redemption: Redemption) -> Identity | None:
        """The answer may have been lost: whoever used the code with this key asks again."""
        asked = {name: getattr(redemption, name) for name in ("code_hash", "identity_id", "public_key")}
        row = (await tx.execute(_GIVEN, asked)).one_or_none()
        return None if row is None else identity_of(row)
