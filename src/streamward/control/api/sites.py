"""Sites, as people describe them."""

from dataclasses import replace

from msgspec import UNSET, UnsetType

from streamward.control.admission import TENANT_DIFFERS
from streamward.control.api.routing import Access, Routes, Tagged
from streamward.control.clerk import Clerk
from streamward.control.cursor import Cursors
from streamward.control.id_namespace import OF_ANOTHER, is_of_another
from streamward.control.listing import page_of
from streamward.control.tags import check_tag, tag_of
from streamward.model.address_policy import AddressPolicy
from streamward.model.camera import Site
from streamward.model.identity import Author, Caller
from streamward.model.ids import SiteId, TenantId
from streamward.model.register import Page, Register
from streamward.model.tenant import check_own
from streamward.protocol.fields import PageQuery
from streamward.protocol.problem import Problem
from streamward.protocol.sites import (
    LOCAL_KINDS,
    ChangeSite,
    CreateSite,
    LocalKind,
    SiteDetails,
    SitePage,
    SiteRemoved,
    SourceRules,
)

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such site", reason="site-unknown")
TENANT_NEEDED = Problem(
    title="Unprocessable Content",
    status=422,
    detail="an operator of all tenants names the site's tenant",
    reason="tenant-needed",
)
_NO_SUCH = {404: "There is no such site"}


def add_sites(routes: Routes, register: Register, *, clerk: Clerk, cursors: Cursors, limits: AddressPolicy) -> None:
    """Adds the routes about sites; the limits are the installation's."""
    _add_edits(routes, register, clerk, limits)

    @routes.get("/v1/sites", access=Access.VIEWER, refuses={400: "The cursor is not one of this listing"})
    async def list_sites(caller: Caller, query: PageQuery) -> SitePage:
        """Lists sites in the order of their ids."""

        async def fetch(after: str | None, limit: int) -> list[Site]:
            return await register.sites(Page(scope=caller.tenant_id, after=after, limit=limit))

        filters = ["sites", caller.tenant_id]
        found, cursor = await page_of(query, fetch, cursors=cursors, filters=filters, key=lambda each: each.site_id)
        return SitePage(items=[_details(site, limits) for site in found], next_cursor=cursor)

    @routes.get("/v1/sites/{site_id}", refuses=_NO_SUCH)
    async def get_site(caller: Caller, site_id: str) -> Tagged[SiteDetails] | Problem:
        """Tells a site."""
        site = await register.find_site(SiteId(site_id), scope=caller.tenant_id)
        return UNKNOWN if site is None else _tagged(site, limits)


def _add_edits(routes: Routes, register: Register, clerk: Clerk, limits: AddressPolicy) -> None:
    @routes.post("/v1/sites", access=Access.OPERATOR, status=201, refuses={409: "The id or the key is taken"})
    async def create_site(author: Author, message: CreateSite, once_key: str | None) -> Tagged[SiteDetails] | Problem:
        """Adds a site."""
        site = _described(author, message, limits)
        if isinstance(site, Problem):
            return site
        if await is_of_another(register, site.site_id, site.tenant_id):
            return OF_ANOTHER
        added = await clerk.create(site, author=author, message=message, once_key=once_key)
        return added if isinstance(added, Problem) else _tagged(added, limits)

    @routes.patch("/v1/sites/{site_id}", access=Access.OPERATOR, refuses=_NO_SUCH)
    async def change_site(
        author: Author, site_id: str, message: ChangeSite, if_match: str
    ) -> Tagged[SiteDetails] | Problem:
        """Changes a site in the state that was read."""
        site = await register.find_site(SiteId(site_id), scope=author.tenant_id)
        if site is None:
            return UNKNOWN
        check_tag(if_match, site)
        changed = await clerk.change(site, _changed(site, message, limits), author=author)
        return changed if isinstance(changed, Problem) else _tagged(changed, limits)

    @routes.delete("/v1/sites/{site_id}", access=Access.OPERATOR, refuses={**_NO_SUCH, 409: "It has cameras"})
    async def remove_site(author: Author, site_id: str, if_match: str) -> SiteRemoved | Problem:
        """Removes a site that has no cameras, in the state that was read."""
        site = await register.find_site(SiteId(site_id), scope=author.tenant_id)
        if site is None:
            return UNKNOWN
        check_tag(if_match, site)
        return await clerk.remove(site, author=author) or SiteRemoved(site_id=site_id)


def _described(author: Author, message: CreateSite, limits: AddressPolicy) -> Site | Problem:
    tenant_id = author.tenant_id or message.tenant_id
    if tenant_id is None:
        return TENANT_NEEDED
    if message.tenant_id not in (None, tenant_id):
        return TENANT_DIFFERS
    return Site(
        site_id=SiteId(check_own(message.site_id, scope=author.tenant_id)),
        tenant_id=TenantId(tenant_id),
        policy=message.policy,
        addresses=_within(limits, message.sources),
        tls_ca=message.tls_ca,
        dials=message.capacity,
        dials_per_minute=message.refill_rate,
    )


def _changed(site: Site, message: ChangeSite, limits: AddressPolicy) -> Site:
    return replace(
        site,
        policy=site.policy if isinstance(message.policy, UnsetType) else message.policy,
        addresses=site.addresses if isinstance(message.sources, UnsetType) else _within(limits, message.sources),
        tls_ca=site.tls_ca if isinstance(message.tls_ca, UnsetType) else message.tls_ca,
        dials=site.dials if isinstance(message.capacity, UnsetType) else message.capacity,
        dials_per_minute=(site.dials_per_minute if isinstance(message.refill_rate, UnsetType) else message.refill_rate),
    )


def _within(limits: AddressPolicy, rules: SourceRules) -> AddressPolicy:
    """The policy of these rules; raises PolicyTooWide if the installation allows less."""
    policy = rules.policy
    limits.check_includes(policy)
    return policy


def _rules(policy: AddressPolicy) -> SourceRules:
    local: list[LocalKind] = [kind for kind in LOCAL_KINDS if kind in policy.kinds]
    return SourceRules(allow=list(map(str, policy.allow)), deny=list(map(str, policy.deny)), kinds=local)


def _tagged(site: Site, limits: AddressPolicy) -> Tagged[SiteDetails]:
    return Tagged(_details(site, limits), tag_of(site))


def _details(site: Site, limits: AddressPolicy) -> SiteDetails:
    return SiteDetails(
        site_id=site.site_id,
        tenant_id=site.tenant_id,
        policy=site.policy,
        capacity=site.dials,
        refill_rate=site.dials_per_minute,
        sources=_rules(site.addresses),
        limits=_rules(limits),
        tls_ca=UNSET if site.tls_ca is None else site.tls_ca,
        updated_at=site.updated_at,
    )
