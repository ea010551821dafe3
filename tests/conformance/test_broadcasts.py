"""Broadcasts and the rule book, on every driver."""

from streamward.insight.batch import Limits
from streamward.insight.broadcasts import Broadcast
from streamward.insight.rules import Rules, Wishes
from streamward.insight.urgency import Trigger, Triggers
from streamward.model.ids import TenantId
from streamward.model.register import AuditFilter, Note
from tests.support.broadcasts import broadcast
from tests.support.builders import START, a_site
from tests.support.fleet import ADA
from tests.support.stores import World

OURS, THEIRS = TenantId("tenant-1"), TenantId("tenant-2")
SURE = Trigger(confidence=0.9, labels=frozenset({"person", "car"}))
OFF = Trigger(confidence=1.0, labels=frozenset())


def wished(wishes: Wishes) -> Note:
    return Note(author=ADA, action="batching.updated", tenant_id=OURS, object_id=OURS, after={"window": wishes.window})


async def with_tenants(world: World) -> None:
    await world.store.save_site(a_site("site-1", tenant=OURS))
    await world.store.save_site(a_site("site-2", tenant=THEIRS))


async def test_what_is_told_comes_in_order_and_can_be_resumed(world: World):
    await with_tenants(world)
    broadcasts = world.insight.broadcasts
    assert (await broadcasts.newest(), await broadcasts.oldest()) == (0, 0)
    await broadcast(world.insight, OURS, "detection.new", ['{"a":1}', '{"a":2}'])
    await broadcast(world.insight, OURS, "detection.batch", ['{"b":1}'])
    await broadcast(world.insight, OURS, "detection.new", [])
    told = await broadcasts.after(0, scope=OURS, limit=9)
    assert [(each.kind, each.body) for each in told] == [
        ("detection.new", '{"a":1}'),
        ("detection.new", '{"a":2}'),
        ("detection.batch", '{"b":1}'),
    ]
    assert told[0] == Broadcast(seq=told[0].seq, tenant_id=OURS, kind="detection.new", body='{"a":1}', at=START)
    assert await broadcasts.after(told[0].seq, scope=OURS, limit=1) == [told[1]]
    assert (await broadcasts.oldest(), await broadcasts.newest()) == (told[0].seq, told[2].seq)


async def test_nobody_is_told_another_tenant_s(world: World):
    await with_tenants(world)
    broadcasts = world.insight.broadcasts
    await broadcast(world.insight, OURS, "detection.new", ["1"])
    await broadcast(world.insight, THEIRS, "detection.new", ["2"])
    assert [each.body for each in await broadcasts.after(0, scope=OURS, limit=9)] == ["1"]
    assert [each.body for each in await broadcasts.after(0, scope=THEIRS, limit=9)] == ["2"]
    assert [each.body for each in await broadcasts.after(0, scope=None, limit=9)] == ["1", "2"]


async def test_what_was_told_long_ago_is_forgotten_in_small_steps(world: World):
    await with_tenants(world)
    broadcasts = world.insight.broadcasts
    await broadcast(world.insight, OURS, "detection.new", ["1", "2", "3"])
    await world.sleep(60)
    await broadcast(world.insight, THEIRS, "detection.new", ["4"])
    assert await broadcasts.prune(kept=60, limit=9) == 0
    await world.sleep(0.001)
    assert [await broadcasts.prune(kept=60, limit=2) for _ in range(3)] == [2, 1, 0]
    [left] = await broadcasts.after(0, scope=None, limit=9)
    assert left.body == "4"


async def test_only_the_tenant_that_has_the_name_now_is_told(world: World):
    await with_tenants(world)
    broadcasts = world.insight.broadcasts
    assert not await broadcasts.append(OURS, "detection.new", ["1"], tenant_key="~earlier")
    assert not await broadcasts.append(TenantId("nobody"), "detection.new", ["1"], tenant_key="~earlier")
    assert await broadcasts.after(0, scope=None, limit=9) == []


async def test_no_number_comes_twice_even_when_all_is_forgotten(world: World):
    await with_tenants(world)
    broadcasts = world.insight.broadcasts
    await broadcast(world.insight, OURS, "detection.new", ["1", "2"])
    last = await broadcasts.newest()
    await world.sleep(2)
    await broadcasts.prune(kept=1, limit=9)
    await broadcast(world.insight, OURS, "detection.new", ["3"])
    assert [each.body for each in await broadcasts.after(last, scope=OURS, limit=9)] == ["3"]


async def test_every_tenant_has_the_installation_s_rules_until_it_wishes_otherwise(world: World):
    await world.store.save_site(a_site("site-1", tenant=OURS))
    await world.store.save_site(a_site("site-2", tenant=THEIRS))
    wishes = Wishes(window=20.0, most=7, alert=SURE, analyse=OFF, detections_kept=99.0)
    assert await world.insight.rules.save_wishes(OURS, wishes, note=wished(wishes))
    assert await world.insight.rules.rules() == {
        OURS: Rules(
            limits=Limits(window=20.0, most=7), triggers=Triggers(alert=SURE, analyse=OFF), detections_kept=99.0
        ),
        THEIRS: Rules(),
    }
    assert await world.insight.rules.find_wishes(OURS, scope=OURS) == wishes
    assert await world.insight.rules.find_wishes(THEIRS, scope=None) == Wishes()


async def test_wishes_are_replaced_whole_and_whose_doing_it_was_is_written_down(world: World):
    await world.store.save_site(a_site("site-1", tenant=OURS))
    for wishes in (Wishes(window=20.0), Wishes(idle=5.0)):
        await world.insight.rules.save_wishes(OURS, wishes, note=wished(wishes))
    assert await world.insight.rules.find_wishes(OURS, scope=OURS) == Wishes(idle=5.0)
    rows = await world.store.audit(AuditFilter(scope=OURS))
    assert [(row.action, row.after, row.author) for row in rows] == [
        ("batching.updated", {"window": None}, ADA),
        ("batching.updated", {"window": 20.0}, ADA),
    ]


async def test_there_are_no_wishes_of_nobody_and_none_of_others_to_be_read(world: World):
    await world.store.save_site(a_site("site-1", tenant=OURS))
    assert not await world.insight.rules.save_wishes(THEIRS, Wishes(), note=wished(Wishes()))
    assert await world.store.audit(AuditFilter(scope=None)) == []
    assert await world.insight.rules.find_wishes(THEIRS, scope=None) is None
    assert await world.insight.rules.find_wishes(OURS, scope=THEIRS) is None
    assert list(await world.insight.rules.rules()) == [OURS]


async def test_the_time_is_the_database_s(world: World):
    await world.sleep(7)
    assert await world.insight.now() == world.clock.wall()
