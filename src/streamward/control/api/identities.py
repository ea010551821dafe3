"""Who is known: one-time codes, identities, and the tokens that they are given."""

from dataclasses import replace

from msgspec import UnsetType

from streamward.control.admission import Admission, AssertionRefused
from streamward.control.api.problems import problem_of
from streamward.control.api.routing import Access, Routes, Seen, Tagged
from streamward.control.clerk import Clerk
from streamward.control.cursor import Cursors
from streamward.control.listing import page_of
from streamward.control.refusals import Refusals
from streamward.control.tags import check_tag, tag_of
from streamward.control.trust import Rereads
from streamward.model.identity import Author, Caller, Identity, Invitation, Role
from streamward.model.ids import RunnerId
from streamward.model.register import IdentityStore, Page
from streamward.protocol.fields import PageQuery
from streamward.protocol.identities import (
    AskToken,
    ChangeIdentity,
    CreateInvitation,
    IdentityDetails,
    IdentityPage,
    IdentityRevoked,
    InvitationMade,
    InvitationPage,
    InvitationRemoved,
    RedeemCode,
    RunnerRevoked,
    TokenGiven,
    identity_details,
    invitation_details,
)
from streamward.protocol.problem import Problem

NO_IDENTITY = Problem(title="Not Found", status=404, detail="there is no such identity", reason="identity-unknown")
NO_INVITATION = Problem(
    title="Not Found", status=404, detail="there is no such invitation", reason="invitation-unknown"
)
NO_RUNNER = Problem(title="Not Found", status=404, detail="there is no such runner", reason="runner-unknown")
RUNNERS_STAY = Problem(
    title="Conflict", status=409, detail="a runner has no other role than runner", reason="identity-is-a-runner"
)
_NO_SUCH = {404: "There is no such identity"}
_TOO_MANY = {429: "Too many wrong ones came before; the right one is always taken"}
_AWAY = {503: "The database does not answer, or too many ask at once"}
_NO_RUNNER = {404: "There is no such runner", 412: "It becomes known again and again"}
_BAD_CURSOR = {400: "The cursor is not one of this listing"}


def add_admission(routes: Routes, admission: Admission, *, refusals: Refusals) -> None:
    """Adds the routes by which somebody becomes known and gets tokens: nobody has one yet."""

    @routes.post(
        "/v1/identities",
        access=Access.OPEN,
        status=201,
        refuses={403: "The code is worth nothing", **_TOO_MANY, **_AWAY},
    )
    async def redeem_code(seen: Seen, message: RedeemCode) -> IdentityDetails | Problem:
        """Makes somebody known by a one-time code and a public key."""
        identity = await admission.redeem(
            message.code.secret, message.public_key, address=seen.address, request_id=seen.request_id
        )
        if isinstance(identity, Problem):
            return refusals.limited(identity, address=seen.address)
        return identity_details(identity)

    @routes.post("/v1/tokens", access=Access.OPEN, refuses={401: "Nobody is proven by this", **_TOO_MANY, **_AWAY})
    async def give_token(seen: Seen, message: AskToken) -> TokenGiven | Problem:
        """Gives a token to whoever signed an assertion with the key of an identity."""
        try:
            return await admission.give_token(message.assertion.secret.reveal())
        except AssertionRefused as err:
            return refusals.limited(problem_of(err), address=seen.address)


def add_invitations(
    routes: Routes, store: IdentityStore, *, admission: Admission, clerk: Clerk, cursors: Cursors
) -> None:
    """Adds the routes about one-time codes."""

    @routes.post(
        "/v1/invitations", access=Access.OPERATOR, status=201, refuses={409: "The runner serves another tenant"}
    )
    async def create_invitation(author: Author, message: CreateInvitation) -> InvitationMade | Problem:
        """Makes a one-time code, and tells it this once."""
        return await admission.invite(author, message)

    @routes.get("/v1/invitations", access=Access.OPERATOR, refuses=_BAD_CURSOR)
    async def list_invitations(caller: Caller, query: PageQuery) -> InvitationPage:
        """Lists invitations that can still be used, without their codes; to operators those of runners."""

        async def fetch(after: str | None, limit: int) -> list[Invitation]:
            return await store.invitations(Page(scope=caller.tenant_id, after=after, limit=limit), role=role)

        role = None if caller.role is Role.ADMIN else Role.RUNNER
        filters = ["invitations", caller.tenant_id, role]
        found, cursor = await page_of(
            query, fetch, cursors=cursors, filters=filters, key=lambda each: each.invitation_id
        )
        return InvitationPage(items=[invitation_details(each) for each in found], next_cursor=cursor)

    @routes.delete(
        "/v1/invitations/{invitation_id}",
        access=Access.OPERATOR,
        refuses={404: "There is no such invitation", 412: "It was used just now"},
    )
    async def remove_invitation(author: Author, invitation_id: str) -> InvitationRemoved | Problem:
        """Makes a code worthless."""
        invitation = await store.find_invitation(invitation_id, scope=author.tenant_id)
        is_seen = invitation is not None and (author.role == Role.ADMIN or invitation.role is Role.RUNNER)
        if invitation is None or not is_seen or invitation.used_at is not None:
            return NO_INVITATION
        removed = await clerk.remove(invitation, author=author)
        return removed or InvitationRemoved(invitation_id=invitation_id)


def add_identities(routes: Routes, store: IdentityStore, *, cursors: Cursors) -> None:
    """Adds the routes about those who are known."""

    @routes.get("/v1/identities", access=Access.ADMIN, refuses=_BAD_CURSOR)
    async def list_identities(caller: Caller, query: PageQuery) -> IdentityPage:
        """Lists everyone who is or was known, people and runners."""

        async def fetch(after: str | None, limit: int) -> list[Identity]:
            return await store.identities(Page(scope=caller.tenant_id, after=after, limit=limit))

        filters = ["identities", caller.tenant_id]
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda each: each.identity_id)
        return IdentityPage(items=[identity_details(each) for each in found], next_cursor=cursor)

    @routes.get("/v1/identities/{identity_id}", access=Access.ADMIN, refuses=_NO_SUCH)
    async def get_identity(caller: Caller, identity_id: str) -> Tagged[IdentityDetails] | Problem:
        """Tells an identity."""
        identity = await store.find_identity(identity_id, scope=caller.tenant_id)
        return NO_IDENTITY if identity is None else _tagged(identity)


def add_identity_changes(
    routes: Routes, store: IdentityStore, *, admission: Admission, clerk: Clerk, standing: Rereads
) -> None:
    """Adds the routes by which people are trusted more, or less, or no more."""

    @routes.patch("/v1/identities/{identity_id}", access=Access.ADMIN, refuses={**_NO_SUCH, 409: "It is a runner's"})
    async def change_identity(
        author: Author, identity_id: str, message: ChangeIdentity, if_match: str
    ) -> Tagged[IdentityDetails] | Problem:
        """Gives a person another role, in the state that was read."""
        identity = await store.find_identity(identity_id, scope=author.tenant_id)
        if identity is None:
            return NO_IDENTITY
        if identity.role is Role.RUNNER:
            return RUNNERS_STAY
        check_tag(if_match, identity)
        role = identity.role if isinstance(message.role, UnsetType) else Role(message.role)
        changed = await clerk.change(identity, replace(identity, role=role), author=author)
        await standing.tick()
        return changed if isinstance(changed, Problem) else _tagged(changed)

    @routes.delete("/v1/identities/{identity_id}", access=Access.VIEWER, refuses={**_NO_SUCH, 412: "It just changed"})
    async def revoke_identity(author: Author, identity_id: str) -> IdentityRevoked | Problem:
        """Trusts an identity no more; everyone may give up their own."""
        identity = await store.find_identity(identity_id, scope=author.tenant_id)
        is_own = identity is not None and is_of(identity, author)
        if identity is None or not identity.is_live or not (is_own or author.role == Role.ADMIN):
            return NO_IDENTITY
        changed = await admission.revoke(author, identity)
        await standing.tick()
        return changed if isinstance(changed, Problem) else IdentityRevoked(identity_id=identity_id)


def add_revocation(routes: Routes, admission: Admission, *, standing: Rereads) -> None:
    """Adds the route by which a runner is trusted no more."""

    @routes.post("/v1/runners/{runner_id}/revoke", access=Access.OPERATOR, refuses=_NO_RUNNER)
    async def revoke_runner(author: Author, runner_id: str) -> RunnerRevoked | Problem:
        """Ends a runner's incarnation, its keys, tokens and unused codes; a new one-time code brings it back."""
        if not await admission.revoke_runner(author, RunnerId(runner_id)):
            return NO_RUNNER
        await standing.tick()
        return RunnerRevoked(runner_id=runner_id)


def is_of(identity: Identity, author: Author) -> bool:
    """Whether it is one of the author's own keys: the same name in another tenant is somebody else."""
    is_person = identity.role is not Role.RUNNER
    return is_person and (identity.subject, identity.tenant_id) == (author.subject, author.tenant_id)


def _tagged(identity: Identity) -> Tagged[IdentityDetails]:
    return Tagged(identity_details(identity), tag_of(identity))
