"""How somebody becomes known, and is given tokens.

    an operator or admin invites  →  a one-time code, of which only a hash is kept
    whoever has the code makes a key pair and redeems the code with its public half  →  an identity
    whoever has the private half signs an assertion  →  a token for a quarter of an hour, again and again

No secret of theirs ever comes here, so none can get out.
"""

import base64
import hashlib
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from streamward.control import signed
from streamward.control.clerk import Clerk
from streamward.control.gate import Crowded, Gate
from streamward.control.id_namespace import OF_ANOTHER, is_of_another
from streamward.control.lookups import Lookups
from streamward.control.tags import PreconditionFailed
from streamward.control.tokens import DEFAULT_LIFETIME, TokenMint
from streamward.leases.store import RunnerStore
from streamward.model.camera import UNDATED
from streamward.model.errors import StreamwardError
from streamward.model.identity import CLOCKS_APART, SYSTEM, Author, Identity, Invitation, Role
from streamward.model.ids import Incarnation, RunnerId, TenantId
from streamward.model.register import Edit, Edited, IdentityStore, Page, Redemption, Register
from streamward.model.secret import Secret
from streamward.model.tenant import check_own, is_tenant_key
from streamward.protocol import codec
from streamward.protocol.fields import ClearText
from streamward.protocol.identities import (
    CreateInvitation,
    InvitationMade,
    TokenGiven,
    invitation_details,
)
from streamward.protocol.problem import Problem
from streamward.protocol.tokens import ASSERTED_TO, Assertion, identity_name
from streamward.runtime.clock import Clock

FIRST_ADMIN = "admin"
FIRST_CODE_FOR = timedelta(hours=24)
REDEEMING = 4  # calls with one code at once
ATTEMPTS = 5  # at an edit of what others change at the same moment
_CODE_BYTES = 20
_FIRST = "first-"  # how the ids of codes begin that a start told

CODE_REFUSED = Problem(
    title="Forbidden",
    status=403,
    detail="this code is not known, was used, or has expired: ask for a new one",
    reason="code-refused",
)
PEOPLE_ARE_ADMINS = Problem(title="Forbidden", status=403, detail="only an admin invites people", reason="wrong-role")
TENANT_DIFFERS = Problem(
    title="Unprocessable Content",
    status=422,
    detail="the message names another tenant than the token: name that one, or none",
    reason="tenant-differs",
)
TENANT_UNKNOWN = Problem(
    title="Unprocessable Content", status=422, detail="there is no such tenant", reason="tenant-unknown"
)
RUNNER_TAKEN = Problem(
    title="Conflict", status=409, detail="a runner of that id serves another tenant", reason="runner-exists"
)


class AssertionRefused(StreamwardError):
    """Somebody asked for a token and did not prove to be somebody."""

    def __str__(self) -> str:
        return "no identity proves this: sign in again with a new one-time code"


class TenantGone(StreamwardError):
    """Somebody proved to be one of a tenant that was deleted."""

    def __init__(self, subject: str) -> None:
        super().__init__(subject)
        self.subject = subject

    def __str__(self) -> str:
        return "the tenant that this identity belonged to was deleted"


class ClocksApart(StreamwardError):
    """An assertion from another time than ours."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds

    def __str__(self) -> str:
        side = "behind" if self.seconds < 0 else "ahead of"
        return (
            f"your clock is {abs(self.seconds):.0f} s {side} the control plane's, and may differ by"
            f" {CLOCKS_APART:.0f} s: let a time service (NTP) set both"
        )


class AdmissionStore(IdentityStore, Register, RunnerStore, Protocol):
    """The ports that know who is known."""

    async def ping(self) -> datetime: ...


class Admission:
    """Invites, makes known, and gives tokens."""

    def __init__(self, store: AdmissionStore, *, clerk: Clerk, mint: TokenMint, clock: Clock) -> None:
        self._store = store
        self._clerk = clerk
        self._mint = mint
        self._clock = clock
        self._gate = Gate()
        self._redeeming: Counter[str] = Counter()  # by the hashes of codes
        self._codes = Lookups[str](self._known_codes)
        self._identities = Lookups[Identity](store.proving)

    async def invite(self, author: Author, message: CreateInvitation) -> InvitationMade | Problem:
        """Makes a code for somebody whom the author may invite."""
        if message.role is not Role.RUNNER and author.role != Role.ADMIN:
            return PEOPLE_ARE_ADMINS
        tenant_id = author.tenant_id or (None if message.tenant_id is None else TenantId(message.tenant_id))
        if message.tenant_id not in (None, tenant_id):
            return TENANT_DIFFERS
        if tenant_id is not None and await self._store.find_tenant(tenant_id, scope=None) is None:
            return TENANT_UNKNOWN
        if message.role is Role.RUNNER:
            check_own(message.subject, scope=author.tenant_id)
            if await is_of_another(self._store, message.subject, tenant_id):
                return OF_ANOTHER
            if await self._serves_others(RunnerId(message.subject), tenant_id):
                return RUNNER_TAKEN
        code = _new_code()
        expires_at = await self._store.ping() + timedelta(seconds=message.ttl_s)
        invitation = _invitation(message.subject, message.role, tenant_id, code=code, expires_at=expires_at)
        made = await self._clerk.create(invitation, author=author)
        return made if isinstance(made, Problem) else _told(made, code)

    async def invite_first(self) -> Secret:
        """A code for the first admin; those of earlier starts are worth nothing any more."""
        code = _new_code()
        expires_at = await self._store.ping() + FIRST_CODE_FOR
        first = _invitation(FIRST_ADMIN, Role.ADMIN, None, code=code, expires_at=expires_at)
        first = replace(first, invitation_id=f"{_FIRST}{first.invitation_id}")
        await self._edit_as_read(lambda: self._first_ended([Edit(after=first)]), author=SYSTEM)
        return code

    async def redeem(self, code: Secret, public_key: str, *, address: str, request_id: str) -> Identity | Problem:
        """The identity that a code gives to a key; codes that nobody ever had do not get to the gate."""
        code_hash = _hash(code)
        if await self._codes.find(code_hash) is None:
            return CODE_REFUSED
        redemption = Redemption(
            code_hash=code_hash,
            identity_id=identity_name(_raw(public_key)),
            public_key=public_key,
            address=address,
            request_id=request_id,
        )
        if self._redeeming[code_hash] >= REDEEMING:  # a code that was used must not fill the gate
            raise Crowded
        self._redeeming[code_hash] += 1
        try:
            async with self._gate.passed():
                known = await self._store.redeem(redemption)
        finally:
            self._redeeming[code_hash] -= 1
            self._redeeming += Counter()  # forgets what is 0
        if known is not None and (known.role, known.tenant_id) == (Role.ADMIN, None):
            await self._edit_as_read(self._first_ended, author=SYSTEM)  # it may stand in a log
        return CODE_REFUSED if known is None else known

    async def give_token(self, assertion: str) -> TokenGiven:
        """A token for whoever signed this."""
        identity = await self._asserted(assertion)
        try:
            said = codec.decode(signed.payload(assertion, _only(identity)), Assertion)
        except (signed.NotSigned, codec.MalformedMessage):
            raise AssertionRefused from None
        if (said.aud, said.sub) != (ASSERTED_TO, identity.identity_id):
            raise AssertionRefused
        now = self._clock.wall()
        if abs(apart := said.iat - now.timestamp()) > CLOCKS_APART:
            raise ClocksApart(apart)
        if is_tenant_key(identity.tenant_id):
            raise TenantGone(identity.subject)
        if (identity.role is Role.RUNNER) != (said.inc is not None):
            raise AssertionRefused
        incarnation = None if said.inc is None else Incarnation(said.inc)
        token = self._mint.identity(identity, incarnation=incarnation)
        return TokenGiven(
            access_token=ClearText(Secret(token)),
            token_type="Bearer",  # noqa: S106 - what OAuth calls the kind
            expires_in=int(DEFAULT_LIFETIME.total_seconds()),
            server_time=now,
            subject=identity.subject,
            role=identity.role,
            tenant_id=identity.tenant_id,
            incarnation=incarnation,
        )

    async def revoke(self, author: Author, identity: Identity) -> Identity | Problem:
        """Trusts one key no more."""
        return await self._clerk.change(identity, replace(identity, revoked_at=await self._store.ping()), author=author)

    async def leaving(self, tenant_id: TenantId) -> list[Edit]:
        """What ends with a tenant: whoever gets its name later must not meet the old one's people."""
        now = await self._store.ping()
        codes = await self._store.invitations(Page(scope=tenant_id, limit=1000))
        live = [each for each in await self._everyone(tenant_id) if each.is_live]
        return [
            *(Edit(before=each, after=replace(each, revoked_at=now)) for each in live),
            *(Edit(before=each) for each in codes),
        ]

    async def revoke_runner(self, author: Author, runner_id: RunnerId) -> bool:
        """Trusts no key, token or code of a runner any more; returns whether there is such a runner."""
        runner = await self._store.find_runner(runner_id)
        is_seen = runner is not None and author.tenant_id in (None, runner.tenant_id)
        barred = _barred(runner_id, None if runner is None else runner.tenant_id)

        async def edits() -> list[Edit]:
            known = await self._runner_identities(runner_id, scope=author.tenant_id)
            now = await self._store.ping()
            revoked = [Edit(before=each, after=replace(each, revoked_at=now)) for each in known if each.is_live]
            if is_seen and not known:  # it has only ever had tokens from the control host: its name is barred
                revoked = [Edit(after=replace(barred, revoked_at=now))]
            page = Page(scope=author.tenant_id, limit=1000)
            codes = await self._store.invitations(page, role=Role.RUNNER, subject=runner_id)
            return [*revoked, *(Edit(before=each) for each in codes)]

        is_changed = await self._edit_as_read(edits, author=author)
        return is_changed or is_seen or bool(await self._runner_identities(runner_id, scope=author.tenant_id))

    async def _runner_identities(self, runner_id: RunnerId, *, scope: TenantId | None) -> list[Identity]:
        known = await self._everyone(scope, subject=runner_id)
        return [each for each in known if each.role is Role.RUNNER]

    async def _everyone(self, scope: TenantId | None, *, subject: str | None = None) -> list[Identity]:
        found: list[Identity] = []
        while page := await self._store.identities(
            Page(scope=scope, after=found[-1].identity_id if found else None, limit=1000), subject=subject
        ):
            found += page
        return found

    async def _first_ended(self, edits: Sequence[Edit] = ()) -> list[Edit]:
        """These edits, and the end of every code that a start told."""
        known = await self._store.invitations(Page(scope=None, limit=1000), role=Role.ADMIN, subject=FIRST_ADMIN)
        return [*edits, *(Edit(before=each) for each in known if each.invitation_id.startswith(_FIRST))]

    async def _edit_as_read(self, read: Callable[[], Awaitable[list[Edit]]], *, author: Author) -> bool:
        """Makes edits of what is read, anew if somebody was quicker; returns whether there were any."""
        for _ in range(ATTEMPTS):
            edits = await read()
            if not edits or isinstance(await self._store.edit(edits, author=author), Edited):
                return bool(edits)
        raise PreconditionFailed

    async def _serves_others(self, runner_id: RunnerId, tenant_id: TenantId | None) -> bool:
        """Whether a runner of that name belongs to somebody else, who would lose it."""
        known = await self._runner_identities(runner_id, scope=None)
        runner = await self._store.find_runner(runner_id)
        tenants = {each.tenant_id for each in known if not is_tenant_key(each.tenant_id)}
        return bool((tenants | ({runner.tenant_id} if runner is not None else set())) - {tenant_id})

    async def _asserted(self, assertion: str) -> Identity:
        """Who an assertion says that it is from, if tokens are given to them."""
        try:
            name = signed.key_name(assertion)
        except signed.NotSigned:
            raise AssertionRefused from None
        identity = await self._identities.find(name)
        if identity is None or not (identity.is_live or is_tenant_key(identity.tenant_id)):
            raise AssertionRefused
        return identity

    async def _known_codes(self, code_hashes: Collection[str]) -> dict[str, str]:
        return {each: each for each in await self._store.known_codes(code_hashes)}


def _only(identity: Identity) -> Callable[[str], Ed25519PublicKey | None]:
    key = Ed25519PublicKey.from_public_bytes(_raw(identity.public_key))
    return lambda name: key if name == identity.identity_id else None


def _invitation(
    subject: str, role: Role, tenant_id: TenantId | None, *, code: Secret, expires_at: datetime
) -> Invitation:
    return Invitation(
        invitation_id=secrets.token_hex(8),
        code_hash=_hash(code),
        subject=subject,
        role=role,
        tenant_id=tenant_id,
        expires_at=expires_at,
        updated_at=UNDATED,
    )


def _told(invitation: Invitation, code: Secret) -> InvitationMade:
    details = invitation_details(invitation)
    return InvitationMade(
        invitation_id=details.invitation_id,
        subject=details.subject,
        role=details.role,
        tenant_id=details.tenant_id,
        expires_at=details.expires_at,
        code=ClearText(code),
    )


def _barred(runner_id: RunnerId, tenant_id: TenantId | None) -> Identity:
    return Identity(
        identity_id=secrets.token_hex(16),
        subject=runner_id,
        role=Role.RUNNER,
        tenant_id=tenant_id,
        public_key="",
        updated_at=UNDATED,
    )


def _new_code() -> Secret:
    """160 bits, in letters that are hard to mistake, four at a time."""
    text = base64.b32encode(secrets.token_bytes(_CODE_BYTES)).decode()
    return Secret("-".join(text[start : start + 4] for start in range(0, len(text), 4)))


def _hash(code: Secret) -> str:
    """What is kept of a code; however a person wrote it down."""
    plain = code.reveal().upper().replace("-", "").replace(" ", "")
    return hashlib.sha256(f"streamward code {plain}".encode()).hexdigest()


def _raw(public_key: str) -> bytes:
    return base64.urlsafe_b64decode(public_key + "=")
