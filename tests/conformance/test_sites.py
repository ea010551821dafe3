"""The site port, on every driver."""

from dataclasses import replace

from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.camera import LeasePolicyName, Site
from streamward.model.ids import SiteId, TenantId
from streamward.model.source_url import SourceKind
from tests.support.builders import SITE, TENANT, a_site
from tests.support.stores import World

OTHER = TenantId("tenant-2")
ADDRESSES = AddressPolicy(
    allow=(parse_network("10.20.0.0/16"), parse_network("2001:db8::/32")),
    deny=(parse_network("10.20.1.1"),),
    kinds=frozenset(SourceKind) - {SourceKind.DEVICE},
)


async def with_site(world: World, site: Site | None = None) -> Site:
    added = await world.store.add_site(site or a_site(), capacity=10, per_minute=120)
    assert added is not None
    return added


async def test_a_site_is_kept_as_saved(world: World):
    site = replace(a_site(policy=LeasePolicyName.STICKY), addresses=ADDRESSES)
    await world.store.save_site(site, capacity=10, per_minute=120)
    assert await world.store.find_site(SITE, scope=None) == replace(site, revision=1)
    await world.store.save_site(a_site(), capacity=10, per_minute=120)
    assert await world.store.find_site(SITE, scope=None) == replace(a_site(), revision=2)


async def test_a_tenant_sees_only_its_own_sites(world: World):
    site = await with_site(world)
    assert await world.store.find_site(SITE, scope=TENANT) == site
    assert await world.store.find_site(SITE, scope=OTHER) is None
    assert await world.store.find_site(SiteId("site-9"), scope=None) is None


async def test_a_site_is_added_once(world: World):
    site = await with_site(world)
    assert await world.store.add_site(a_site(tenant=OTHER), capacity=1, per_minute=1) is None
    assert await world.store.find_site(SITE, scope=None) == site
    budget = await world.store.budget(SITE, scope=None)
    assert budget is not None
    assert budget.bucket.capacity == 10


async def test_a_site_is_changed_in_the_revision_that_was_read(world: World):
    site = await with_site(world)
    changed = await world.store.change_site(replace(site, addresses=ADDRESSES), capacity=7, per_minute=60)
    assert changed == replace(site, addresses=ADDRESSES, revision=2)
    assert await world.store.find_site(SITE, scope=None) == changed
    budget = await world.store.budget(SITE, scope=None)
    assert budget is not None
    assert (budget.bucket.capacity, budget.bucket.per_minute) == (7, 60)


async def test_a_site_that_somebody_changed_meanwhile_is_left_alone(world: World):
    site = await with_site(world)
    first = await world.store.change_site(replace(site, policy=LeasePolicyName.TASK), capacity=7, per_minute=60)
    assert await world.store.change_site(replace(site, addresses=ADDRESSES), capacity=1, per_minute=1) is None
    assert await world.store.change_site(replace(a_site(tenant=OTHER), revision=2), capacity=1, per_minute=1) is None
    assert await world.store.find_site(SITE, scope=None) == first
