"""The intake: nothing is let go of before it is kept, and nothing is in the way of the rest."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from msgspec.structs import replace as replace_fields

from streamward.batcher.facts import (
    DeletedTenantsDropped,
    DetectionsMissing,
    DetectionsStored,
    MessagesUnusable,
    ZoneEventsStored,
)
from streamward.batcher.intake import GROUP_EVERY, MOST, TRIES
from streamward.insight.rules import Rules
from streamward.insight.store import ALERTED_FOR, IndexAway
from streamward.insight.urgency import Trigger, Triggers
from streamward.leases.store import StoreUnavailable
from streamward.model.bus import Refused
from streamward.model.ids import TenantId
from streamward.model.message import Message
from streamward.model.objects import ObjectKey, StoreAway
from streamward.model.zone import Crossing
from streamward.protocol import codec, events
from streamward.protocol.pointers import DATAREF, pointer, stored
from streamward.protocol.seeing import MOST_ZONES
from streamward.runtime import virtual_time
from tests.support.batch_desk import Desk, a_crossing, a_thing, an_event, told
from tests.support.builders import CAMERA, TENANT
from tests.support.clocks import START

FAST = Rules(
    triggers=Triggers(
        alert=Trigger(confidence=0.5, labels=frozenset({"fire"})),
        analyse=Trigger(confidence=0.9, labels=frozenset({"fire"})),
    )
)


async def test_what_was_seen_is_stored_in_a_batch_and_told_of_before_it_is_acknowledged():
    desk = Desk()
    await desk.see(0, 1, detections=[a_thing(), a_thing("car")])
    await desk.take_in()
    assert len(desk.db.detections) == 4
    assert desk.of(DetectionsStored) == [DetectionsStored(new=4, late=0, known=0, refused=0)]
    assert desk.waiting(events.BATCHER.name) == []
    await desk.batcher.herald.write()
    bodies = [json.loads(each.body) for each in desk.db.broadcasts]
    assert [each["label"] for each in bodies] == ["person", "car", "person", "car"]
    assert len({each["batch_id"] for each in bodies}) == 1


def test_messages_that_come_soon_after_a_group_are_gathered_into_the_next_one():
    async def story() -> None:
        desk = Desk()
        await desk.see(0.0)
        await desk.take_in()
        assert len(desk.db.detections) == 1
        taking = asyncio.create_task(desk.take_in())
        for _ in range(3):
            await asyncio.sleep(GROUP_EVERY / 4)
            await desk.see(0.0)
        assert len(desk.db.detections) == 1
        await taking
        assert len(desk.db.detections) == 4

    virtual_time.run(story())


def test_a_full_group_is_not_waited_for():
    async def story() -> None:
        desk = Desk()
        began = asyncio.get_running_loop().time()
        await desk.see(*[0.0] * 2 * MOST)
        await desk.take_in()
        await desk.take_in()
        assert asyncio.get_running_loop().time() == began
        assert len(desk.db.detections) == 2 * MOST

    virtual_time.run(story())


def test_a_message_that_comes_long_after_the_last_group_is_kept_at_once():
    async def story() -> None:
        desk = Desk()
        await desk.see(0.0)
        await desk.take_in()
        desk.clock.advance(GROUP_EVERY)
        await desk.see(0.0)
        began = asyncio.get_running_loop().time()
        await desk.take_in()
        assert asyncio.get_running_loop().time() == began
        assert len(desk.db.detections) == 2

    virtual_time.run(story())


async def test_which_thing_it_is_and_where_it_stands_is_stored_too():
    desk = Desk()
    await desk.see(0, detections=[replace_fields(a_thing(), track_id=7, zones=["door", "yard"]), a_thing()])
    await desk.take_in()
    found = [each.seen.detection for each in desk.db.detections.values()]
    assert [(each.track_id, each.zones) for each in found] == [(7, ("door", "yard")), (None, ())]


async def test_what_happened_at_zones_is_stored_once_and_told_once():
    desk = Desk()
    await desk.bus.declare(events.BATCHER)
    message = told(an_event(START, zone_events=[a_crossing(), a_crossing("dwell", stayed_s=30.0)]))
    for _ in range(2):
        await desk.bus.publish(message)
        await desk.take_in()
    assert [each.kind for each in desk.db.zone_events.values()] == [Crossing.ENTER, Crossing.DWELL]
    assert desk.of(ZoneEventsStored) == [
        ZoneEventsStored(new=2, late=0, known=0, refused=0),
        ZoneEventsStored(new=0, late=0, known=2, refused=0),
    ]
    await desk.batcher.herald.write()
    bodies = [json.loads(each.body) for each in desk.db.broadcasts if each.kind == "zone.event"]
    assert [(each["type"], each["camera_id"], each["stayed_s"]) for each in bodies] == [
        ("enter", CAMERA, 0.0),
        ("dwell", CAMERA, 30.0),
    ]
    assert {each["event_id"] for each in bodies} == {message.message_id}


async def test_a_frame_without_things_may_tell_who_left():
    desk = Desk()
    desk.clock.advance(10)
    await desk.see(0, detections=[], zone_events=[a_crossing("leave", ts=START, stayed_s=8.0)])
    await desk.take_in()
    (record,) = desk.db.zone_events.values()
    assert (record.kind, record.made_at, record.stored_at) == (Crossing.LEAVE, START, desk.clock.wall())
    assert desk.waiting(events.BATCHER.name) == []
    assert desk.of(DetectionsStored) == []


async def test_the_fence_judges_zone_events_by_their_frame_and_nobody_hears_of_late_ones():
    desk = Desk()
    desk.clock.advance(10)
    desk.grant()
    await desk.see(-1, generation=1, zone_events=[a_crossing()])
    await desk.see(1, generation=1, zone_events=[a_crossing("leave")])  # it left before; that is known too late
    await desk.take_in()
    assert desk.of(ZoneEventsStored) == [ZoneEventsStored(new=1, late=1, known=0, refused=1)]
    await desk.batcher.herald.write()
    assert {each.kind for each in desk.db.broadcasts} == {"detection.new"}


async def test_a_broadcast_of_a_detection_is_dated_by_when_it_is_broadcast():
    desk = Desk()
    desk.clock.advance(10)
    await desk.see(-3)
    await desk.take_in()
    await desk.batcher.herald.write()
    (broadcast,) = desk.db.broadcasts
    assert json.loads(broadcast.body)["timestamp"] == "2026-01-01T12:00:10Z"


async def test_what_comes_again_is_known_and_changes_nothing():
    desk = Desk()
    message = told(an_event(START))
    await desk.bus.declare(events.BATCHER)
    await desk.bus.publish(message)
    await desk.take_in()
    await desk.bus.publish(message)
    await desk.take_in()
    assert desk.of(DetectionsStored)[-1] == DetectionsStored(new=0, late=0, known=1, refused=0)
    (sealed,) = await desk.index.seal_due(TENANT, now=START + timedelta(seconds=31), limit=9, is_check=True)
    assert sealed.detection_ids == (1,)


async def test_the_fence_refuses_what_a_thawed_worker_made_and_lets_pass_what_it_made_before():
    desk = Desk()
    desk.clock.advance(10)
    desk.grant()
    await desk.see(*(-place for place in range(1, 6)), generation=1)  # from its spool
    await desk.see(*range(5), generation=1)  # frozen meanwhile, and it does not know
    await desk.take_in()
    assert desk.of(DetectionsStored) == [DetectionsStored(new=5, late=5, known=0, refused=5)]
    assert all(each.is_late for each in desk.db.detections.values())
    assert desk.waiting(events.BATCHER.name) == []


@pytest.mark.parametrize(("part", "call"), [("detections", "admit"), ("zone_events", "admit"), ("index", "add_all")])
async def test_while_a_store_is_away_messages_go_back_and_come_again(part, call):
    desk = Desk()
    getattr(desk, part).failing = {call}
    await desk.see(0, 1, 2, zone_events=[a_crossing()])
    with pytest.raises((StoreUnavailable, IndexAway)):
        await desk.take_in()
    assert len(desk.waiting(events.BATCHER.name)) == 3
    getattr(desk, part).failing = set()
    await desk.take_in()
    assert desk.waiting(events.BATCHER.name) == []
    (sealed,) = await desk.index.seal_due(TENANT, now=START + timedelta(seconds=40), limit=9, is_check=True)
    assert sealed.detection_ids == (1, 2, 3)
    assert len(desk.db.zone_events) == 3


async def test_a_database_that_takes_no_zone_events_keeps_no_detection_from_its_batch():
    desk = Desk()
    desk.zone_events.failing = {"admit"}
    await desk.see(0, 1, 2, zone_events=[a_crossing()])
    with pytest.raises(StoreUnavailable):
        await desk.take_in()
    (sealed,) = await desk.index.seal_due(TENANT, now=START + timedelta(seconds=40), limit=9, is_check=True)
    assert sealed.detection_ids == (1, 2, 3)
    assert len(desk.waiting(events.BATCHER.name)) == 3


def with_crossing(message: Message, right: bytes, wrong: bytes) -> Message:
    """The message with a zone event that is not as it should be."""
    whole = told(an_event(START, zone_events=[a_crossing()])).body
    assert right in whole
    return replace(message, body=whole.replace(right, wrong))


UNUSABLE: dict[str, Callable[[Message], Message]] = {
    "no JSON": lambda m: replace(m, body=b"{"),
    "another camera's key": lambda m: replace(m, routing_key="detections.tenant-1.site-1.cam-2"),
    "another's event": lambda m: replace(m, body=m.body.replace(b'"event_id":"cam-1', b'"event_id":"cam-2')),
    "no zone": lambda m: replace(m, body=m.body.replace(b'00Z"', b'00"')),
    "year 1": lambda m: replace(m, body=m.body.replace(b'"ts":"2026', b'"ts":"0001')),
    "a NUL in a class": lambda m: replace(m, body=m.body.replace(b'"person"', b'"per\\u0000son"')),
    "half a character": lambda m: replace(m, body=m.body.replace(b'"person"', b'"per\\ud800son"')),
    "no class": lambda m: replace(m, body=m.body.replace(b'"person"', b'""')),
    "more than a number": lambda m: replace(m, body=m.body.replace(b"0.75", b"1e999")),
    "a track below 0": lambda m: replace(m, body=m.body.replace(b'"track_id":null', b'"track_id":-1')),
    "a track of 64 bits": lambda m: replace(m, body=m.body.replace(b'"track_id":null', b'"track_id":%d' % 2**63)),
    "a zone without a name": lambda m: replace(m, body=m.body.replace(b'"zones":[]', b'"zones":[""]')),
    "more zones than there are": lambda m: replace(
        m, body=m.body.replace(b'"zones":[]', b'"zones":["a"%s]' % (b',"a"' * MOST_ZONES))
    ),
    "a crossing of no kind": lambda m: with_crossing(m, b'"enter"', b'"fly"'),
    "a crossing without a zone": lambda m: with_crossing(m, b'"zone":"door"', b'"zone":""'),
    "a crossing of nothing": lambda m: with_crossing(m, b'"class":"person","ts"', b'"class":"","ts"'),
    "a crossing of no track": lambda m: with_crossing(m, b'"track_id":7', b'"track_id":-7'),
    "a crossing at no time": lambda m: with_crossing(m, b'Z","stayed_s"', b'","stayed_s"'),
    "a crossing long ago": lambda m: with_crossing(m, b'"class":"person","ts":"2026', b'"class":"person","ts":"0001'),
    "a stay of less than nothing": lambda m: with_crossing(m, b'"stayed_s":0.0', b'"stayed_s":-1.0'),
    "a stay for ever": lambda m: with_crossing(m, b'"stayed_s":0.0', b'"stayed_s":1e999'),
    "a pointer to nothing": lambda m: replace(m, headers={**m.headers, DATAREF: "s3://x/y"}),
}


async def test_a_dead_letter_is_not_lost_if_its_exchange_was_deleted():
    desk = Desk()
    await desk.take_in()
    desk.queues.by_name[events.DEAD.name].bindings.clear()
    await desk.bus.publish(replace(told(an_event(START)), body=b"{"))
    await desk.take_in()
    assert [each.body for each in desk.waiting(events.DEAD.name)] == [b"{"]


@pytest.mark.parametrize("how", UNUSABLE)
async def test_what_nobody_can_read_goes_to_the_dead_letters_and_the_rest_goes_on(how):
    desk = Desk()
    await desk.bus.declare(events.BATCHER)
    spoiled: Message = UNUSABLE[how](told(an_event(START)))
    assert spoiled != told(an_event(START))
    assert not isinstance(await desk.bus.publish(spoiled), Refused)
    await desk.see(0, 1)
    await desk.take_in()
    assert len(desk.db.detections) == 2
    assert desk.waiting(events.BATCHER.name) == []
    (dead,) = desk.waiting(events.DEAD.name)
    assert dead.body == spoiled.body
    assert dead.headers["streamward_why"]
    (said,) = desk.of(MessagesUnusable)
    assert said.times == 1


async def test_one_that_the_database_alone_refuses_is_set_aside_after_a_few_tries_and_never_when_it_takes_none():
    desk = Desk()
    admit = desk.detections.admit

    async def choosy(seen):
        if any(each.event_id.endswith(".1") for each in seen):
            raise StoreUnavailable("numeric value out of range")
        return await admit(seen)

    desk.detections.admit = choosy
    await desk.see(0)
    for _ in range(TRIES + 1):
        with pytest.raises(StoreUnavailable):
            await desk.take_in()  # it is alone: the database may be to blame
    for _ in range(TRIES):
        await desk.see(1)
        assert len(desk.waiting(events.BATCHER.name)) == 2
        await desk.take_in()
    assert desk.waiting(events.BATCHER.name) == []
    assert len(desk.db.detections) == TRIES
    assert len(desk.waiting(events.DEAD.name)) == 1


async def test_a_pointer_is_followed_and_waits_while_its_store_is_away():
    desk = Desk()
    event = an_event(START)
    key = ObjectKey.of(TenantId(TENANT), CAMERA, day=START.date(), name=event.event_id)
    body = codec.encode(event)
    await desk.objects.put(key, body)
    pointing = codec.encode(pointer(event, stored(body, key=str(key), url="memory:x")))
    await desk.bus.declare(events.BATCHER)
    message = told(event)
    await desk.bus.publish(replace(message, body=pointing, headers={**message.headers, DATAREF: "memory:x"}))
    await desk.see(1)
    desk.objects.is_away = True
    with pytest.raises(StoreAway):
        await desk.take_in()
    assert len(desk.db.detections) == 1  # the other one
    desk.objects.is_away = False
    await desk.take_in()
    assert len(desk.db.detections) == 2
    assert desk.waiting(events.BATCHER.name) == []


async def test_what_a_worker_lost_is_told():
    desk = Desk()
    await desk.bus.declare(events.BATCHER)
    lost = events.DetectionsLost(
        runner_id="r1", shard_id="s1", tenant_id=TENANT, spool="s1", first=7, count=12, ts=START
    )
    message = replace(told(an_event(START)), routing_key=f"gap.{TENANT}.r1.s1", body=codec.encode(lost))
    await desk.bus.publish(message)
    await desk.take_in()
    (fact,) = desk.of(DetectionsMissing)
    assert (fact.runner_id, fact.count) == ("r1", 12)
    assert desk.waiting(events.BATCHER.name) == []


async def test_what_cannot_wait_is_a_batch_of_its_own_and_an_alert_is_told_apart():
    desk = Desk(FAST)
    await desk.see(0, detections=[a_thing(), a_thing("fire", 0.95), a_thing("fire", 0.6)])
    await desk.take_in()
    await desk.batcher.closer.close_in_hand()
    (record,) = desk.db.batches.values()
    assert (record.batch.detection_ids, record.batch.reason) == ((2,), "fast_path")
    await desk.batcher.herald.write()
    alerts = [json.loads(each.body)["detection_id"] for each in desk.db.broadcasts if each.kind == "detection.alert"]
    assert alerts == [2, 3]


async def alerts_of(desk: Desk) -> list[int]:
    await desk.batcher.herald.write()
    return [json.loads(each.body)["detection_id"] for each in desk.db.broadcasts if each.kind == "detection.alert"]


async def test_a_tracked_object_is_alerted_of_once_while_it_stays():
    desk = Desk(FAST)
    for _ in range(6):
        await desk.see(0, detections=[a_thing("fire", 0.95, track_id=7), a_thing("fire", 0.6, track_id=8)])
        await desk.take_in()
        desk.clock.advance(ALERTED_FOR.total_seconds() / 2)
    assert await alerts_of(desk) == [1, 2]
    await desk.see(0, detections=[a_thing("fire", 0.95, track_id=9)])
    await desk.take_in()
    assert await alerts_of(desk) == [1, 2, 13], "what leaves and comes back has another number"


async def test_a_track_that_was_not_detected_for_long_is_forgotten():
    desk = Desk(FAST)
    for rest in (0.0, ALERTED_FOR.total_seconds() - 1, ALERTED_FOR.total_seconds()):
        desk.clock.advance(rest)
        await desk.see(0, detections=[a_thing("fire", 0.95, track_id=7)])
        await desk.take_in()
    assert await alerts_of(desk) == [1, 3]


async def test_what_is_late_is_never_urgent():
    desk = Desk(FAST)
    desk.clock.advance(10)
    desk.grant()
    await desk.see(-1, generation=1, detections=[a_thing("fire", 0.99)])
    await desk.take_in()
    assert len(desk.batcher.in_hand) == 0
    await desk.batcher.herald.write()
    assert {each.kind for each in desk.db.broadcasts} == {"detection.new"}


async def test_what_is_of_a_deleted_tenant_is_dropped_with_its_payload_and_is_no_dead_letter():
    desk = Desk()
    await desk.see(0)
    event = an_event(START, frame=77)
    key = ObjectKey.of(TenantId(event.tenant_id), CAMERA, day=event.ts.date(), name=event.event_id)
    await desk.objects.put(key, codec.encode(event))
    place = stored(codec.encode(event), key=str(key), url=desk.objects.url(key))
    pointing = told(event)
    headers = {**pointing.headers, DATAREF: place.url}
    await desk.bus.publish(replace(pointing, body=codec.encode(pointer(event, place)), headers=headers))
    await desk.bus.publish(replace(pointing, body=b"?", headers=headers))
    await desk.bus.publish(replace(told(an_event(START, frame=78)), body=b"{"))
    desk.db.tenants.clear()
    await desk.take_in()
    assert (desk.db.detections, desk.db.broadcasts, desk.objects.kept) == ({}, [], {})
    assert desk.waiting(events.BATCHER.name) == desk.waiting(events.DEAD.name) == []
    assert desk.of(DeletedTenantsDropped) == [DeletedTenantsDropped(messages=4)]


async def test_a_tenant_that_was_made_a_moment_ago_is_no_deleted_one():
    desk = Desk()
    known = desk.db.tenants.pop(TenantId(TENANT))
    await desk.see(0)
    await desk.take_in()
    desk.db.tenants[TenantId(TENANT)] = known
    await desk.see(1)
    await desk.take_in()
    assert desk.of(DetectionsStored) == [DetectionsStored(new=1, late=0, known=0, refused=0)]


async def test_what_was_detected_for_one_tenant_is_not_broadcast_to_the_next_of_its_name():
    desk = Desk()
    await desk.see(0)
    await desk.take_in()
    known = desk.db.tenants[TenantId(TENANT)]
    desk.db.tenants[TenantId(TENANT)] = replace(known, tenant_key="~next")
    await desk.batcher.herald.write()
    assert desk.db.broadcasts == []
