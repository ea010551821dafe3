"""The batch port, on every driver: each detection in one batch, each batch told once."""

from dataclasses import replace

from streamward.insight.store import Closed, Waiting
from tests.support.builders import an_owner, at
from tests.support.fleet import take, with_cameras, with_runners
from tests.support.sightings import a_batch_id, a_sealed, a_seen
from tests.support.stores import World

ONE = an_owner()


async def with_detections(world: World, count: int = 4) -> list[int]:
    await with_cameras(world.store)
    await with_runners(world.store, ONE)
    await take(world.store, ONE)
    stored = (await world.insight.detections.admit([a_seen(f"event-{number}") for number in range(count)])).stored
    return [each.detection_id for each in stored if each is not None]


async def loose(world: World) -> list[int]:
    found = await world.insight.detections.loose(stored_before=at(1e6), after=0, limit=100)
    return [each.stored.detection_id for each in found]


async def test_a_batch_has_its_detections_in_the_order_of_their_arrival(world: World):
    one, two, three, four = await with_detections(world)
    batch = a_sealed([three, one, two], closed_at=at(33))
    assert await world.insight.batches.close_batch(batch) == Closed(batch=batch, is_new=True)
    [waiting] = await world.insight.batches.untold(limit=9)
    assert waiting == Waiting(position=waiting.position, batch=batch)
    assert await loose(world) == [four]


async def test_a_batch_claims_only_what_no_other_has(world: World):
    one, two, three, _ = await with_detections(world)
    await world.insight.batches.close_batch(a_sealed([one, two]))
    second = a_sealed([two, three], number=2)
    closed = await world.insight.batches.close_batch(second)
    assert closed == Closed(batch=replace(second, detection_ids=(three,)), is_new=True)


async def test_a_batch_that_claims_nothing_is_not_written(world: World):
    one, two, _, _ = await with_detections(world)
    await world.insight.batches.close_batch(a_sealed([one, two]))
    second = a_sealed([two, one, 999_999], number=2)
    assert await world.insight.batches.close_batch(second) == Closed(
        batch=replace(second, detection_ids=()), is_new=False
    )
    assert len(await world.insight.batches.untold(limit=9)) == 1
    assert await world.insight.records.find_batch(second.batch_id, scope=None) is None


async def test_a_batch_that_is_there_already_claims_nothing_more(world: World):
    one, two, three, four = await with_detections(world)
    first = a_sealed([one, two])
    await world.insight.batches.close_batch(first)
    again = await world.insight.batches.close_batch(replace(first, detection_ids=(two, three, four), closed_at=at(9)))
    assert (again.batch, again.is_new) == (first, False)
    assert list(again.left) == await world.insight.detections.loose(stored_before=at(1), after=0, limit=9)
    assert await loose(world) == [three, four]


async def test_a_batch_takes_nothing_of_another_camera_or_tenant(world: World):
    one, *_ = await with_detections(world)
    for stranger in (a_sealed([one], camera_id="cam-2"), a_sealed([one], tenant="tenant-2")):
        assert not (await world.insight.batches.close_batch(stranger)).is_new
    assert one in await loose(world)


async def test_a_detection_that_is_named_twice_is_in_its_batch_once(world: World):
    one, *_ = await with_detections(world)
    closed = await world.insight.batches.close_batch(a_sealed([one, one]))
    assert closed.batch.detection_ids == (one,)


async def test_batches_wait_in_the_order_of_their_closing_until_they_are_told(world: World):
    ids = await with_detections(world)
    batches = [a_sealed([each], number=9 - place) for place, each in enumerate(ids)]
    for batch in batches:
        await world.insight.batches.close_batch(batch)
    waiting = await world.insight.batches.untold(limit=3)
    assert [each.batch for each in waiting] == batches[:3]
    await world.insight.batches.told([waiting[0].position, waiting[2].position])
    assert [each.batch for each in await world.insight.batches.untold(limit=9)] == [batches[1], batches[3]]
    await world.insight.batches.told([])


async def test_two_batches_of_one_short_name_are_two(world: World):
    one, two, *_ = await with_detections(world)
    first, second = a_sealed([one], number=1), a_sealed([two], number=2)
    assert first.batch_id[:14] == second.batch_id[:14]
    assert (await world.insight.batches.close_batch(first)).is_new
    assert (await world.insight.batches.close_batch(second)).is_new


async def test_what_is_given_back_can_be_claimed_by_another_batch_and_never_by_the_same(world: World):
    one, two, *_ = await with_detections(world)
    first = a_sealed([two, one])
    await world.insight.batches.close_batch(first)
    freed = await world.insight.batches.reopen(first.batch_id)
    assert [each.stored.detection_id for each in freed] == [two, one]
    assert await world.insight.batches.untold(limit=9) == []
    assert await world.insight.records.find_batch(first.batch_id, scope=None) is None
    again = await world.insight.batches.close_batch(first)
    assert (again.is_new, again.batch.detection_ids, again.left) == (False, (), freed)
    assert (await world.insight.batches.close_batch(a_sealed([one, two], number=2))).is_new


async def test_giving_back_twice_gives_nothing_the_second_time(world: World):
    one, *_ = await with_detections(world)
    await world.insight.batches.close_batch(a_sealed([one]))
    assert len(await world.insight.batches.reopen(a_batch_id(1))) == 1
    await world.insight.batches.close_batch(a_sealed([one], number=2))
    assert await world.insight.batches.reopen(a_batch_id(1)) == ()
    assert await world.insight.batches.reopen(a_batch_id(7)) == ()
    assert one not in await loose(world)
