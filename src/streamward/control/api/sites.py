"""Sites: what operators say of them, and when a first connection to their cameras may go."""

from dataclasses import replace
from typing import Protocol

from msgspec import UnsetType

from streamward.control.api.cameras import check_tag
from streamward.control.api.problems import PreconditionFailed
from streamward.control.api.routing import Access, Routes, Tagged
from streamward.leases import facts
from streamward.leases.dialing import DialGranted, DialRefusal, DialRefused
from streamward.leases.store import CameraStore, Dial, DialStore
from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.camera import Site
from streamward.model.identity import Caller
from streamward.model.ids import CameraId, Generation, SiteId, TenantId
from streamward.model.source_url import NETWORK, SourceKind
from streamward.protocol.problem import Problem
from streamward.protocol.sites import (
    LOCAL_KINDS,
    ChangeSite,
    CreateSite,
    DialFinished,
    DialToken,
    LocalKind,
    NamedDial,
    SiteBudget,
    SiteDetails,
    SourceRules,
)
from streamward.runtime.journal import Journal

UNKNOWN = Problem(title="Not Found", status=404, detail="there is no such site", reason="site-unknown")

TAKEN = Problem(title="Conflict", status=409, detail="there is a site of that id", reason="site-exists")
TENANT_NEEDED = Problem(
    title="Unprocessable Content",
    status=422,
    detail="an operator of all tenants names the site's tenant, any other its own or none",
    reason="tenant-needed",
)

_NO_SUCH = {404: "There is no such site"}
_SENTENCES = {
    DialRefusal.EMPTY: "the site's dial budget is empty",
    DialRefusal.IN_FLIGHT: "as many dials as the site bears are under way",
}


class SiteStore(CameraStore, DialStore, Protocol):
    """The ports that know sites."""


def add_sites(routes: Routes, store: SiteStore, *, journal: Journal) -> None:
    """Adds the routes about sites."""

    @routes.post(
        "/v1/sites/{site_id}/budget/consume",
        access=Access.RUNNER,
        body_required=False,
        refuses={**_NO_SUCH, 409: "Empty: try again after Retry-After, with jitter"},
    )
    async def consume_budget(caller: Caller, site_id: str, message: NamedDial) -> DialToken | Problem:
        """Takes one token for one first connection."""
        dial = _dial(site_id, message)
        outcome = await store.consume(dial, scope=caller.tenant_id)
        if outcome is None:
            return UNKNOWN
        return _told(dial, outcome, journal)

    @routes.post("/v1/sites/{site_id}/budget/done", access=Access.RUNNER, body_required=False, refuses=_NO_SUCH)
    async def finish_dial(caller: Caller, site_id: str, message: NamedDial) -> DialFinished | Problem:
        """Says that a dial has connected or failed."""
        if await store.find_site(SiteId(site_id), scope=caller.tenant_id) is None:
            return UNKNOWN
        finished = await store.finish(_dial(site_id, message), scope=caller.tenant_id)
        return DialFinished(site_id=site_id, finished=finished)

    @routes.get("/v1/sites/{site_id}/budget", refuses=_NO_SUCH)
    async def get_budget(caller: Caller, site_id: str) -> SiteBudget | Problem:
        """Tells a site's budget."""
        seen = await store.budget(SiteId(site_id), scope=caller.tenant_id)
        if seen is None:
            return UNKNOWN
        return SiteBudget(
            site_id=site_id,
            tokens=round(seen.bucket.tokens, 3),
            capacity=seen.bucket.capacity,
            refill_rate=seen.bucket.per_minute,
            reserve=round(seen.bucket.reserve, 3),
            reserve_size=seen.bucket.reserve_size,
            in_flight=seen.in_flight,
            updated_at=seen.bucket.updated_at,
        )


def add_site_edits(routes: Routes, store: SiteStore) -> None:
    """Adds the routes by which operators describe sites."""

    @routes.post("/v1/sites", access=Access.OPERATOR, status=201, refuses={409: "There is a site of that id"})
    async def create_site(caller: Caller, message: CreateSite) -> Tagged[SiteDetails] | Problem:
        """Adds a site."""
        tenant_id = caller.tenant_id or message.tenant_id
        if tenant_id is None or message.tenant_id not in (None, tenant_id):
            return TENANT_NEEDED
        site = Site(
            site_id=SiteId(message.site_id),
            tenant_id=TenantId(tenant_id),
            policy=message.policy,
            addresses=_addresses(message.sources),
        )
        added = await store.add_site(site, capacity=message.capacity, per_minute=message.refill_rate)
        return TAKEN if added is None else _tagged(added, message.capacity, message.refill_rate)

    @routes.get("/v1/sites/{site_id}", access=Access.OPERATOR, refuses=_NO_SUCH)
    async def get_site(caller: Caller, site_id: str) -> Tagged[SiteDetails] | Problem:
        """Tells a site."""
        site = await store.find_site(SiteId(site_id), scope=caller.tenant_id)
        seen = await store.budget(SiteId(site_id), scope=caller.tenant_id)
        return UNKNOWN if site is None or seen is None else _tagged(site, seen.bucket.capacity, seen.bucket.per_minute)

    @routes.patch("/v1/sites/{site_id}", access=Access.OPERATOR, refuses=_NO_SUCH)
    async def change_site(
        caller: Caller, site_id: str, message: ChangeSite, if_match: str
    ) -> Tagged[SiteDetails] | Problem:
        """Changes a site in the state that was read."""
        site = await store.find_site(SiteId(site_id), scope=caller.tenant_id)
        seen = await store.budget(SiteId(site_id), scope=caller.tenant_id)
        if site is None or seen is None:
            return UNKNOWN
        check_tag(if_match, _tag(site))
        capacity = seen.bucket.capacity if isinstance(message.capacity, UnsetType) else message.capacity
        rate = seen.bucket.per_minute if isinstance(message.refill_rate, UnsetType) else message.refill_rate
        changed = await store.change_site(_changed(site, message), capacity=capacity, per_minute=rate)
        if changed is None:
            raise PreconditionFailed
        return _tagged(changed, capacity, rate)


def _changed(site: Site, message: ChangeSite) -> Site:
    return replace(
        site,
        policy=site.policy if isinstance(message.policy, UnsetType) else message.policy,
        addresses=site.addresses if isinstance(message.sources, UnsetType) else _addresses(message.sources),
    )


def _addresses(rules: SourceRules) -> AddressPolicy:
    return AddressPolicy(
        allow=tuple(map(parse_network, rules.allow)),
        deny=tuple(map(parse_network, rules.deny)),
        kinds=NETWORK | {SourceKind(kind) for kind in rules.kinds},
    )


def _tag(site: Site) -> str:
    return f'"{site.revision}"'


def _tagged(site: Site, capacity: int, rate: float) -> Tagged[SiteDetails]:
    local: list[LocalKind] = [kind for kind in LOCAL_KINDS if kind in site.addresses.kinds]
    told = SiteDetails(
        site_id=site.site_id,
        tenant_id=site.tenant_id,
        policy=site.policy,
        capacity=capacity,
        refill_rate=rate,
        sources=SourceRules(
            allow=[str(network) for network in site.addresses.allow],
            deny=[str(network) for network in site.addresses.deny],
            kinds=local,
        ),
    )
    return Tagged(told, _tag(site))


def _dial(site_id: str, message: NamedDial) -> Dial:
    return Dial(
        site_id=SiteId(site_id),
        camera_id=None if message.camera_uuid is None else CameraId(message.camera_uuid),
        generation=None if message.version is None else Generation(message.version),
    )


def _told(dial: Dial, outcome: DialGranted | DialRefused, journal: Journal) -> DialToken | Problem:
    if isinstance(outcome, DialRefused):
        journal.record(facts.DialDelayed(site_id=dial.site_id, camera_id=dial.camera_id, reason=outcome.reason))
        return Problem(
            title="Conflict",
            status=409,
            detail=_SENTENCES[outcome.reason],
            reason=outcome.reason,
            retry_in_ms=round(outcome.retry_in * 1000),
        )
    journal.record(facts.DialAllowed(site_id=dial.site_id, camera_id=dial.camera_id))
    return DialToken(
        site_id=dial.site_id, tokens=round(outcome.bucket.tokens, 3), reserve=round(outcome.bucket.reserve, 3)
    )
