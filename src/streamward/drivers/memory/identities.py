"""One-time codes and identities in memory; people's edits of them are made by `MemoryEdits`."""

from collections.abc import Collection
from dataclasses import replace

from streamward.drivers.memory.register import MemoryEdits, listed
from streamward.model.identity import Identity, Invitation, Role
from streamward.model.ids import TenantId
from streamward.model.register import Doubt, Edit, Edited, Page, Redemption, redeemed


class MemoryIdentities(MemoryEdits):
    """The identity port on a `MemoryDatabase`."""

    async def invitations(
        self, page: Page, *, role: Role | None = None, subject: str | None = None
    ) -> list[Invitation]:
        def is_wanted(code: Invitation) -> bool:
            return self._is_open(code) and role in (None, code.role) and subject in (None, code.subject)

        return listed(self._db.invitations, page, is_wanted)

    async def find_invitation(self, invitation_id: str, *, scope: TenantId | None) -> Invitation | None:
        found = self._db.invitations.get(invitation_id)
        return found if found is not None and scope in (None, found.tenant_id) else None

    async def known_codes(self, code_hashes: Collection[str]) -> set[str]:
        return {each.code_hash for each in self._db.invitations.values()}.intersection(code_hashes)

    async def redeem(self, redemption: Redemption) -> Identity | None:
        code = next((each for each in self._db.invitations.values() if each.code_hash == redemption.code_hash), None)
        if code is None:
            return None
        if not self._is_open(code):
            return self._given_before(code, redemption)
        has_place = code.tenant_id is None or code.tenant_id in self._db.tenants
        given = self._give(code, redemption) if has_place else None
        if given is not None:
            now = self._db.now()
            used = replace(code, used_at=now, updated_at=now, revision=code.revision + 1)
            self._db.invitations[code.invitation_id] = used
            self._bell.ring()
        return given

    async def identities(self, page: Page, *, subject: str | None = None) -> list[Identity]:
        return listed(self._db.identities, page, lambda each: subject in (None, each.subject))

    async def find_identity(self, identity_id: str, *, scope: TenantId | None) -> Identity | None:
        found = self._db.identities.get(identity_id)
        return found if found is not None and scope in (None, found.tenant_id) else None

    async def proving(self, identity_ids: Collection[str]) -> dict[str, Identity]:
        return {each: self._db.identities[each] for each in identity_ids if each in self._db.identities}

    async def has_admin(self) -> bool:
        return any(
            each.role is Role.ADMIN and each.tenant_id is None and each.is_live for each in self._db.identities.values()
        )

    async def doubts(self) -> list[Doubt]:
        live = {_name(each) for each in self._db.identities.values() if each.is_live}
        return [
            Doubt(
                identity_id=each.identity_id,
                revision=each.revision,
                is_live=each.is_live,
                subject=each.subject,
                tenant_id=each.tenant_id,
                is_runner=each.role is Role.RUNNER,
                has_heir=_name(each) in live,
            )
            for each in self._db.identities.values()
            if each.revision > 1 or not each.is_live
        ]

    def _is_open(self, code: Invitation) -> bool:
        return code.used_at is None and code.expires_at > self._db.now()

    def _given_before(self, code: Invitation, redemption: Redemption) -> Identity | None:
        known = self._db.identities.get(redemption.identity_id)
        is_its = known is not None and (known.subject, known.public_key) == (code.subject, redemption.public_key)
        return known if code.used_at is not None and known is not None and is_its and known.is_live else None

    def _give(self, code: Invitation, redemption: Redemption) -> Identity | None:
        fresh, author = redeemed(code, redemption)
        alike = [
            each
            for each in self._db.identities.values()
            if code.role is each.role is Role.RUNNER and each.is_live and each.subject == fresh.subject
        ]
        old = [each for each in alike if each.tenant_id == fresh.tenant_id]
        if len(old) < len(alike):  # a runner of that name is another tenant's
            return None
        now = self._db.now()
        replaced = [Edit(before=each, after=replace(each, revoked_at=now)) for each in old]
        outcome = self.apply([Edit(after=fresh), *replaced], author=author)
        given = outcome.things[0] if isinstance(outcome, Edited) else None
        return given if isinstance(given, Identity) else None


def _name(identity: Identity) -> tuple[object, ...]:
    """Those of one name are one: a person or a runner, of one tenant."""
    return identity.subject, identity.tenant_id, identity.role is Role.RUNNER
