"""The site port, on every driver."""

from dataclasses import replace

from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import SiteId, TenantId
from streamward.model.register import Page
from streamward.model.source_url import SourceKind
from tests.support.builders import SITE, TENANT, a_site, at
from tests.support.stores import World

OTHER = TenantId("tenant-2")
ADDRESSES = AddressPolicy(
    allow=(parse_network("10.20.0.0/16"), parse_network("2001:db8::/32")),
    deny=(parse_network("10.20.1.1"),),
    kinds=frozenset(SourceKind) - {SourceKind.DEVICE},
)


async def test_a_site_is_kept_as_saved(world: World):
    site = replace(a_site(policy=LeasePolicyName.FASTER), addresses=ADDRESSES, dials=7, dials_per_minute=60.0)
    await world.store.save_site(site)
    assert await world.store.find_site(SITE, scope=None) == replace(site, revision=1, updated_at=at(0))
    await world.advance(1)
    await world.store.save_site(a_site())
    assert await world.store.find_site(SITE, scope=None) == replace(a_site(), revision=2, updated_at=at(1))


async def test_a_tenant_sees_only_its_own_sites(world: World):
    await world.store.save_site(a_site())
    assert await world.store.find_site(SITE, scope=TENANT) is not None
    assert await world.store.find_site(SITE, scope=OTHER) is None
    assert await world.store.find_site(SiteId("site-9"), scope=None) is None


async def test_sites_are_listed_by_tenant_and_in_pages(world: World):
    for number in (3, 1, 2):
        await world.store.save_site(a_site(f"site-{number}"))
    await world.store.save_site(a_site("site-0", tenant=OTHER))
    first = await world.store.sites(Page(scope=TENANT, limit=2))
    assert [site.site_id for site in first] == ["site-1", "site-2"]
    rest = await world.store.sites(Page(scope=TENANT, after="site-2"))
    assert [site.site_id for site in rest] == ["site-3"]
    assert len(await world.store.sites(Page(scope=None))) == 4


async def test_a_saved_site_brings_its_tenant(world: World):
    await world.store.save_site(a_site())
    await world.store.save_site(a_site("site-2", tenant=OTHER))
    assert [tenant.tenant_id for tenant in await world.store.tenants(Page(scope=None))] == [TENANT, OTHER]
    assert [tenant.tenant_id for tenant in await world.store.tenants(Page(scope=OTHER))] == [OTHER]
    assert await world.store.find_tenant(TENANT, scope=OTHER) is None
    assert await world.store.find_tenant(TENANT, scope=TENANT) is not None
