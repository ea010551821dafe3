"""One suite for every index of open batches: the memory twin and a real Redis."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from streamward.insight.batch import BatchId, CloseReason, Lane, Limits, Sealed, Sighting
from streamward.insight.store import CLOSING_FOR
from tests.support.builders import CAMERA, at
from tests.support.indexes import Batcher, IndexWorld, sightings

TICK = timedelta(microseconds=1)


async def test_the_first_detection_opens_a_batch_and_later_ones_join_it(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        (first,) = (await batcher.add(sightings(0))).batch_ids
        placed = await batcher.add(sightings(5, 15, first=2))
        assert placed.batch_ids == (first, first)
        assert placed.sealed == ()
        assert re.fullmatch(r"batch-[0-9a-f]{32}", first)


async def test_the_timeline_of_s2_ends_by_idle_time_at_the_first_check_after_it(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        batch_id = await s2_timeline(batcher)
        assert await batcher.seal_due(at(80)) == []  # exactly 30 s, as at T+45
        assert await batcher.seal_due(at(80.001), is_check=False) == []
        expected = Sealed(
            batch_id=batch_id,
            tenant_id=batcher.tenant_id,
            camera_id=CAMERA,
            detection_ids=(1, 2, 3, 4),
            started_at=at(0),
            pipeline_start_time=at(0),
            closed_at=at(80.001),
            reason=CloseReason.IDLE,
        )
        assert await batcher.seal_due(at(80.001)) == [expected]
        assert await batcher.seal_due(at(80.001)) == []
        assert await batcher.next_window_end() is None


async def test_the_timeline_of_s2_ends_by_its_window_whatever_arrives(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        await s2_timeline(batcher)
        for number, moment in enumerate((60, 75), start=5):
            await batcher.add(sightings(moment, first=number))
        assert await batcher.next_window_end() == at(90)
        assert await batcher.seal_due(at(90) - TICK) == []
        (sealed,) = await batcher.seal_due(at(90), is_check=False)
        assert (sealed.detection_ids, sealed.reason) == ((1, 2, 3, 4, 5, 6), CloseReason.WINDOW)


async def s2_timeline(batcher: Batcher) -> BatchId:
    """S2's diagram up to T+50: detections at T+0, 5, 15 and 50, and a check at T+45 that finds the batch open."""
    for number, moment in enumerate((0, 5, 15), start=1):
        (batch_id,) = (await batcher.add(sightings(moment, first=number))).batch_ids
    assert await batcher.seal_due(at(45)) == []
    placed = await batcher.add(sightings(50, first=4))
    assert (placed.batch_ids, placed.sealed) == ((batch_id,), ())
    return batch_id


@pytest.mark.parametrize(
    ("moments", "due", "reason"),
    [
        ((0, 25, 50, 59), 90, CloseReason.WINDOW),  # both limits
        ((0.000_001,), 30.000_002, CloseReason.IDLE),
    ],
)
async def test_a_check_closes_a_batch_by_window_or_idle_time(indexes: IndexWorld, moments, due, reason) -> None:
    async with indexes:
        batcher = indexes.batcher()
        for number, moment in enumerate(moments, start=1):
            await batcher.add(sightings(moment, first=number), limits=Limits(idle=31 if due == 90 else 30))
        assert await batcher.seal_due(at(due) - TICK) == []
        assert [batch.reason for batch in await batcher.seal_due(at(due))] == [reason]


@pytest.mark.parametrize(
    ("made_at", "sealed"),
    [
        (at(30) + TICK, None),
        (at(35), None),
        (at(35) + TICK, CloseReason.IDLE),
        (at(90) - TICK, CloseReason.IDLE),
        (at(90), CloseReason.WINDOW),
    ],
)
async def test_a_detection_made_after_a_check_or_the_window_opens_the_next_batch(indexes, made_at, sealed) -> None:
    async with indexes:
        batcher = indexes.batcher()
        (first,) = (await batcher.add(sightings(0))).batch_ids
        placed = await batcher.add([Sighting(2, made_at)])
        assert [batch.reason for batch in placed.sealed] == ([] if sealed is None else [sealed])
        assert (placed.batch_ids == (first,)) is (sealed is None)


async def test_a_batch_starts_when_it_is_opened_and_its_pipeline_with_the_earliest_frame(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        await batcher.add(sightings(10), now=at(12))
        await batcher.add(sightings(8, first=2), now=at(13))
        (sealed,) = await batcher.seal_due(at(60))
        assert (sealed.started_at, sealed.pipeline_start_time) == (at(12), at(8))


async def test_a_full_batch_is_sealed_and_the_next_detection_opens_another(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        placed = await batcher.add(sightings(0, 1, 2, 3, 4), limits=Limits(most=2))
        assert [batch.detection_ids for batch in placed.sealed] == [(1, 2), (3, 4)]
        assert {batch.reason for batch in placed.sealed} == {CloseReason.SIZE}
        assert len(set(placed.batch_ids)) == 3
        assert [batch.closed_at for batch in placed.sealed] == [at(4), at(4)]


async def test_what_was_made_long_before_goes_aside(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        (present,) = (await batcher.add(sightings(1000))).batch_ids
        (aside,) = (await batcher.add(sightings(0, first=2), now=at(1000))).batch_ids
        assert aside != present
        late = await batcher.add(sightings(1, first=3), now=at(1000), lane=Lane.ASIDE)
        assert late.batch_ids == (aside,)
        older = await batcher.add(sightings(-500, first=4), now=at(1000), lane=Lane.ASIDE)
        assert [(batch.batch_id, batch.reason) for batch in older.sealed] == [(aside, CloseReason.OUT_OF_ORDER)]
        assert (await batcher.add(sightings(1001, first=5))).batch_ids == (present,)


@pytest.mark.parametrize(
    ("moments", "made_at", "joins"),
    [
        ((0,), at(-35) - TICK, False),
        ((0,), at(-35), True),
        ((0, 25, 50, 75), at(-15), False),  # all of it would be longer than a window
        ((0, 25, 50, 75), at(-15) + TICK, True),
    ],
)
async def test_what_was_made_shortly_before_joins(indexes: IndexWorld, moments, made_at, joins) -> None:
    async with indexes:
        batcher = indexes.batcher()
        (present, *_) = (await batcher.add(sightings(*moments))).batch_ids
        placed = await batcher.add([Sighting(9, made_at)], now=at(75))
        assert (placed.batch_ids == (present,)) is joins
        assert placed.sealed == ()


async def test_a_check_waits_as_much_longer_as_detections_arrive_late(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        await batcher.add(sightings(0), now=at(600))
        assert await batcher.next_window_end() == at(690)
        await batcher.add(sightings(10, first=2), now=at(600.5))
        assert await batcher.next_window_end() == at(680.5)
        assert await batcher.seal_due(at(630.5)) == []
        await batcher.add(sightings(20, first=3), now=at(20))
        assert await batcher.next_window_end() == at(90)
        assert await batcher.seal_due(at(50)) == []
        assert [batch.reason for batch in await batcher.seal_due(at(50) + TICK)] == [CloseReason.IDLE]


async def test_an_earlier_detection_moves_the_window_of_its_batch(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        await batcher.add(sightings(20, 0.5, 10), now=at(20))
        assert await batcher.next_window_end() == at(90.5)
        (batch,) = await batcher.seal_due(at(50) + TICK)
        assert (batch.detection_ids, batch.started_at, batch.pipeline_start_time) == ((1, 2, 3), at(20), at(0.5))


async def test_a_detection_stays_where_it_is_however_often_it_comes(indexes: IndexWorld) -> None:
    async with indexes:
        batcher, other = indexes.batcher(), indexes.batcher()
        first = await batcher.add(sightings(0, 1, 2))
        assert await other.add(sightings(0, 1, 2), now=at(70)) == first
        assert await other.add_urgent(Sighting(3, at(70))) == replace(first, batch_ids=first.batch_ids[:1])
        assert await batcher.seal_due(at(32)) == []
        (batch,) = await batcher.seal_due(at(32) + TICK)
        assert batch.detection_ids == (1, 2, 3)


async def test_one_that_comes_twice_in_a_call_is_there_once(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        await batcher.add([*sightings(0, 1), *sightings(0, 1)])
        assert [batch.detection_ids for batch in await batcher.seal_due(at(32))] == [(1, 2)]


async def test_a_repeat_tells_again_of_what_was_sealed_and_not_forgotten(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        await batcher.add(sightings(0))
        seconds = sightings(40, 41, 42, first=2)
        first = await batcher.add(seconds, limits=Limits(most=2))
        assert [batch.detection_ids for batch in first.sealed] == [(1,), (2, 3)]
        again = await batcher.add(seconds, now=at(50), limits=Limits(most=2))
        assert again.batch_ids == first.batch_ids
        assert sorted(again.sealed, key=lambda batch: batch.detection_ids) == list(first.sealed)
        await batcher.forget(first.sealed[0])
        assert (await batcher.add(seconds[-1:])).sealed == first.sealed[1:]
        assert (await batcher.add(sightings(43, first=5))).sealed == ()


async def test_what_is_written_down_is_forgotten_and_nothing_else(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        (sealed,) = (await batcher.add(sightings(0, 1), limits=Limits(most=2))).sealed
        (current,) = (await batcher.add(sightings(2, first=3))).batch_ids
        await batcher.forget(sealed, replace(sealed, batch_id=current))
        await batcher.forget(sealed)
        assert (await batcher.add(sightings(2, 0, first=3))).batch_ids == (current, current)
        assert (await batcher.add(sightings(0))).batch_ids == (current,)  # nothing is known of it any more
        assert [batch.detection_ids for batch in await batcher.seal_due(at(1) + 2 * CLOSING_FOR)] == [(3, 4, 1)]


async def test_a_batch_that_nobody_closes_is_adopted_by_one(indexes: IndexWorld) -> None:
    async with indexes:
        batcher, other = indexes.batcher(), indexes.batcher()
        await batcher.add(sightings(0))
        (sealed,) = await batcher.seal_due(at(31))
        assert await other.seal_due(at(31) + CLOSING_FOR - TICK) == []
        assert await other.seal_due(at(31) + CLOSING_FOR) == [sealed]
        assert await batcher.seal_due(at(31) + CLOSING_FOR) == []
        await other.forget(sealed)
        assert await batcher.seal_due(at(31) + 3 * CLOSING_FOR) == []


async def test_what_is_most_overdue_is_sealed_first(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        for number, moment in enumerate((3, 1, 0, 2), start=1):
            await batcher.add(sightings(moment, first=number), camera=f"cam-{number}")
        assert [batch.camera_id for batch in await batcher.seal_due(at(40), limit=3)] == ["cam-3", "cam-2", "cam-4"]
        assert [batch.camera_id for batch in await batcher.seal_due(at(40), limit=3)] == ["cam-1"]


async def test_an_urgent_detection_is_a_sealed_batch_of_its_own(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        (present,) = (await batcher.add(sightings(0))).batch_ids
        placed = await batcher.add_urgent(Sighting(2, at(1)))
        (sealed,) = placed.sealed
        assert placed.batch_ids == (sealed.batch_id,) != (present,)
        assert (sealed.detection_ids, sealed.reason) == ((2,), CloseReason.FAST_PATH)
        assert (sealed.started_at, sealed.closed_at) == (at(1), at(1))
        assert await batcher.add_urgent(Sighting(2, at(1))) == placed
        assert (await batcher.add(sightings(1, first=2))).sealed == (sealed,)
        assert [batch.detection_ids for batch in await batcher.seal_due(at(31))] == [(1,)]


async def test_many_cameras_are_added_in_one_go(indexes: IndexWorld) -> None:
    async with indexes:
        batcher, other = indexes.batcher("one"), indexes.batcher("other")
        additions = [
            batcher.addition(sightings(0, 1), camera="cam-1"),
            other.addition(sightings(0), camera="cam-1"),
            batcher.addition(sightings(2, 3, first=3), camera="cam-2", limits=Limits(most=2)),
            batcher.addition(sightings(4, first=5), camera="cam-1"),
        ]
        first, foreign, full, last = await batcher.index.add_all(additions, now=at(4))
        assert first.batch_ids == last.batch_ids * 2 != foreign.batch_ids * 2
        assert [batch.detection_ids for batch in full.sealed] == [(3, 4)]
        assert await batcher.index.add_all([], now=at(4)) == []


async def test_nothing_is_added_where_nothing_is_offered(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        placed = await batcher.add([], now=at(0))
        assert (placed.batch_ids, placed.sealed) == ((), ())
        assert await batcher.next_window_end() is None
        assert await batcher.seal_due(at(1e6)) == []
        await batcher.forget()


async def test_tenants_share_nothing(indexes: IndexWorld) -> None:
    async with indexes:
        mine, theirs = indexes.batcher("one"), indexes.batcher("other")
        (sealed,) = (await mine.add(sightings(0, 1), limits=Limits(most=2))).sealed
        await mine.add(sightings(2, first=3))
        assert await theirs.next_window_end() is None
        assert await theirs.seal_due(at(1000)) == []
        await theirs.forget(sealed)
        placed = await theirs.add(sightings(0, 1, 2))
        assert placed.sealed == ()
        assert (await mine.add(sightings(0))).sealed == (sealed,)


async def test_a_tenant_that_is_dropped_has_no_batch_and_others_have_theirs(indexes: IndexWorld) -> None:
    async with indexes:
        dropped, kept = indexes.batcher("one"), indexes.batcher("one-more")
        (sealed,) = (await dropped.add(sightings(0, 1), limits=Limits(most=2))).sealed
        await dropped.add(sightings(2, first=3))
        (open_one,) = (await kept.add(sightings(2))).batch_ids
        await dropped.index.drop_tenant(dropped.tenant_id)
        await dropped.index.drop_tenant(dropped.tenant_id)
        assert await dropped.next_window_end() is None
        assert await dropped.seal_due(at(1000)) == []
        placed = await dropped.add(sightings(0))
        assert placed.sealed == ()
        assert placed.batch_ids != (sealed.batch_id,)
        assert (await kept.add(sightings(2))).batch_ids == (open_one,)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a:b", "a%3Ab"),
        ("a*", "a"),
        ("a{b}", "ab"),
        ("{", "}"),
        ("%", "%25"),
        ("a:current", "a"),
        ("batches:due", "due"),
        ("a b", "a+b"),
        ("ä", "a"),
    ],
)
async def test_ids_with_signs_of_their_own_collide_with_nothing(indexes: IndexWorld, one, other) -> None:
    async with indexes:
        tenants = [indexes.batcher(name) for name in (one, other)]
        places = [
            (await tenant.add(sightings(0), camera=camera)).batch_ids for tenant in tenants for camera in (one, other)
        ]
        assert len(set(places)) == 4
        for tenant in tenants:
            assert [batch.camera_id for batch in await tenant.seal_due(at(31))] in ([one, other], [other, one])


async def test_a_camera_may_be_named_as_a_batch_is(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        (batch_id,) = (await batcher.add(sightings(0))).batch_ids
        (other,) = (await batcher.add(sightings(1), camera=batch_id)).batch_ids
        first, second = await batcher.seal_due(at(40))
        assert (first.batch_id, first.camera_id) == (batch_id, CAMERA)
        assert (second.batch_id, second.camera_id) == (other, batch_id)


async def test_an_index_that_lost_nothing_began_when_it_did(indexes: IndexWorld) -> None:
    async with indexes:
        batcher = indexes.batcher()
        began = await batcher.index.began()
        await batcher.add(sightings(0))
        assert await indexes.batcher("tenant-2").index.began() == began


async def test_of_each_track_the_first_detection_is_alerted_of_however_often_it_is_offered(indexes: IndexWorld) -> None:
    async with indexes:
        one, two = indexes.batcher(), indexes.batcher()
        claim, again = one.index.claim_alerts, two.index.claim_alerts
        assert await claim(one.tenant_id, [("cam.1.1.7", 1), ("cam.1.1.8", 2), ("cam.1.1.7", 3)], now=at(0)) == {1, 2}
        assert await again(one.tenant_id, [("cam.1.1.7", 4), ("cam.1.1.8", 2)], now=at(1)) == {2}
        assert await again(one.tenant_id, [("cam.1.2.7", 5)], now=at(1)) == {5}, "another epoch's"
        assert await claim(one.tenant_id, [], now=at(1)) == frozenset()
        await one.index.drop_tenant(one.tenant_id)
        assert await claim(one.tenant_id, [("cam.1.1.7", 6)], now=at(2)) == {6}
