"""The detection port, on every driver: the fence, and each detection once."""

from dataclasses import replace
from datetime import timedelta

import pytest

from streamward.insight.store import Stored
from streamward.model.ids import CameraId
from tests.support.builders import START, an_owner, at
from tests.support.fleet import named, take, with_cameras, with_runners
from tests.support.sightings import a_sealed, a_seen
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")
TICK = timedelta(microseconds=1)


async def with_a_lease(world: World) -> None:
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE)


async def with_an_heir(world: World) -> None:
    """The second owner has had the camera since second 10; it is second 20."""
    await with_a_lease(world)
    await world.sleep(10)
    await world.store.release(ONE, [replace(named(), made_until=at(10) - TICK)])
    assert (await take(world.store, TWO)).granted_at == at(10) + TICK
    await world.sleep(10)


async def test_what_the_owner_saw_is_stored_and_is_the_present(world: World):
    await with_a_lease(world)
    await world.sleep(5)
    admitted = await world.insight.detections.admit([a_seen(made_at=at(3))])
    [stored] = admitted.stored
    assert stored is not None
    assert stored == Stored(detection_id=stored.detection_id, made_at=at(3), is_late=False, is_new=True, batch_id=None)
    assert admitted.at == at(5)


async def test_nothing_to_store_still_tells_the_time(world: World):
    admitted = await world.insight.detections.admit([])
    assert (admitted.stored, admitted.at) == ((), START)


async def test_the_same_twice_is_stored_once_and_said_to_be_known(world: World):
    await with_a_lease(world)
    [first] = (await world.insight.detections.admit([a_seen()])).stored
    again = (await world.insight.detections.admit([a_seen(), a_seen("event-2"), a_seen("event-2")])).stored
    assert first is not None
    assert again[0] == replace(first, is_new=False)
    assert again[1] is not None
    assert again[2] == replace(again[1], is_new=False)
    assert again[1].is_new


async def test_many_can_be_stored_at_once(world: World):
    await with_a_lease(world)
    seen = [a_seen(f"event-{number % 1100}") for number in range(2200)]
    stored = (await world.insight.detections.admit(seen)).stored
    assert [each is not None and each.is_new for each in stored] == [True] * 1100 + [False] * 1100
    ids = [each.detection_id for each in stored if each is not None]
    assert ids[:1100] == ids[1100:]


async def test_each_place_in_an_event_is_a_detection(world: World):
    await with_a_lease(world)
    stored = (await world.insight.detections.admit([a_seen(index=0), a_seen(index=1)])).stored
    assert len({each.detection_id for each in stored if each is not None}) == 2


async def test_ids_rise_with_the_moments_at_which_things_were_seen(world: World):
    await with_a_lease(world)
    await world.sleep(5)
    seen = [a_seen(f"event-{second}", made_at=at(second)) for second in (3, 1, 2)]
    ids = [each.detection_id for each in (await world.insight.detections.admit(seen)).stored if each is not None]
    assert ids[1] < ids[2] < ids[0]


@pytest.mark.parametrize(
    "seen",
    [
        a_seen(generation=2),
        a_seen(generation=0),
        a_seen(owner=TWO),
        a_seen(owner=an_owner("runner-1", incarnation="inc-2")),
        a_seen(camera_id="cam-2"),
        a_seen(camera_id="nowhere"),
    ],
)
async def test_what_nobody_was_granted_is_refused(world: World, seen):
    await with_a_lease(world)
    await with_cameras(world.store, "cam-2")
    assert (await world.insight.detections.admit([seen])).stored == (None,)
    assert await world.insight.detections.loose(stored_before=at(99), after=0, limit=9) == []


@pytest.mark.parametrize(
    ("made_at", "is_late"),
    [(at(0), True), (at(10) - TICK, True), (at(10), None), (at(10) + TICK, None), (at(99), None)],
)
async def test_what_an_earlier_owner_saw_is_late_until_the_next_grant_and_refused_from_then_on(
    world: World, made_at, is_late
):
    await with_an_heir(world)
    [stored] = (await world.insight.detections.admit([a_seen(owner=ONE, made_at=made_at)])).stored
    assert (stored and stored.is_late) == is_late
    [stored] = (await world.insight.detections.admit([a_seen("new", owner=TWO, generation=2, made_at=at(15))])).stored
    assert stored is not None
    assert not stored.is_late


async def test_a_detection_is_never_dated_ahead_of_the_database(world: World):
    await with_a_lease(world)
    [stored] = (await world.insight.detections.admit([a_seen(made_at=at(7))])).stored
    assert stored is not None
    assert stored.made_at == START + TICK, "when it was granted"


async def test_what_was_stored_stays_stored_when_its_owner_is_gone(world: World):
    await with_an_heir(world)
    early = a_seen(owner=TWO, generation=2, made_at=at(20))
    [first] = (await world.insight.detections.admit([early])).stored
    await world.store.release(TWO, [named()])
    await world.sleep(100)
    await take(world.store, ONE)
    assert first is not None
    assert (await world.insight.detections.admit([early])).stored == (replace(first, is_new=False),)
    assert (await world.insight.detections.admit([replace(early, event_id="else", made_at=at(120))])).stored == (None,)


async def test_a_redelivered_detection_tells_the_batch_that_has_it(world: World):
    await with_a_lease(world)
    [stored] = (await world.insight.detections.admit([a_seen()])).stored
    assert stored is not None
    batch = a_sealed([stored.detection_id])
    await world.insight.batches.close_batch(batch)
    assert (await world.insight.detections.admit([a_seen()])).stored == (
        replace(stored, is_new=False, batch_id=batch.batch_id),
    )


async def test_some_of_a_group_may_be_refused_and_each_answer_stands_in_its_place(world: World):
    await with_an_heir(world)
    seen = [
        a_seen("live", owner=TWO, generation=2, made_at=at(12)),
        a_seen("stale", owner=ONE, made_at=at(12)),
        a_seen("late", owner=ONE, made_at=at(5)),
    ]
    live, stale, late = (await world.insight.detections.admit(seen)).stored
    assert live is not None
    assert late is not None
    assert (live.is_late, stale, late.is_late) == (False, None, True)
    assert (live.made_at, late.made_at) == (at(12), at(5))


async def test_what_is_in_no_batch_is_found_in_the_order_of_ids(world: World):
    await with_a_lease(world)
    await with_cameras(world.store, "cam-2")
    await take(world.store, TWO, "cam-2")
    seen = [a_seen(f"event-{number}") for number in range(3)]
    stored = (await world.insight.detections.admit([*seen, a_seen("z", camera_id="cam-2", owner=TWO)])).stored
    first, second, third, other = (each for each in stored if each is not None)
    await world.insight.batches.close_batch(a_sealed([second.detection_id]))
    found = await world.insight.detections.loose(stored_before=at(1), after=0, limit=9)
    assert [each.stored for each in found] == [replace(each, is_new=False) for each in (first, third, other)]
    assert found[2].camera_id == CameraId("cam-2")
    after = await world.insight.detections.loose(stored_before=at(1), after=first.detection_id, limit=1)
    assert [each.stored.detection_id for each in after] == [third.detection_id]


async def test_what_was_stored_only_now_is_left_to_who_stored_it(world: World):
    await with_a_lease(world)
    await world.insight.detections.admit([a_seen()])
    assert await world.insight.detections.loose(stored_before=START, after=0, limit=9) == []
    assert len(await world.insight.detections.loose(stored_before=START + TICK, after=0, limit=9)) == 1
