"""What can be read of detections, batches and analyses, on every driver: pages, tenants, and what is forgotten when."""

from dataclasses import replace

from streamward.insight.analysis import Analysis, Case, Recorded, analysis
from streamward.insight.batch import BatchId
from streamward.insight.records import Recent
from streamward.insight.store import Seen
from streamward.leases.lease import TICK
from streamward.leases.store import Store
from streamward.model.ids import CameraId, TenantId
from tests.support.builders import START, an_owner, at
from tests.support.fleet import take, with_cameras, with_runners
from tests.support.sightings import FOLLOWED, PERSON, a_batch_id, a_sealed, a_seen
from tests.support.stores import World

ONE = an_owner()
OURS, THEIRS = TenantId("tenant-1"), TenantId("tenant-2")
OUR_CAMERA, THEIR_CAMERA = CameraId("cam-1"), CameraId("cam-2")
DAY = 86_400.0


async def with_two_tenants(store: Store) -> None:
    await with_cameras(store, OUR_CAMERA, tenant=OURS)
    await with_cameras(store, THEIR_CAMERA, tenant=THEIRS, site="site-2")
    await with_runners(store, ONE)
    for camera_id in (OUR_CAMERA, THEIR_CAMERA):
        await take(store, ONE, camera_id)


def ours(event_id: str) -> Seen:
    return a_seen(event_id)


def theirs(event_id: str) -> Seen:
    return a_seen(event_id, camera_id=THEIR_CAMERA, tenant=THEIRS, site="site-2")


async def admitted(world: World, *seen: Seen) -> list[int]:
    stored = (await world.insight.detections.admit(seen)).stored
    return [each.detection_id for each in stored if each is not None]


def an_analysis(number: int, *, tenant: str = OURS, camera_id: str = OUR_CAMERA, risk: int = 0) -> Analysis:
    seen = (Recorded(detection_id=7, camera_id=camera_id, made_at=at(1), detection=PERSON),)
    case = Case(batch=a_sealed([7], number=number, tenant=tenant, camera_id=camera_id), seen=seen)
    return analysis(case, analyst="summary", summary="one person – alone", risk=risk, reasons=["somebody", "at night"])


async def test_detections_are_read_whole_newest_first_and_page_by_page(world: World):
    await with_two_tenants(world.store)
    ids = await admitted(world, *(ours(f"event-{number}") for number in range(5)))
    page = await world.insight.records.detections(Recent(scope=None, limit=2))
    assert [each.detection_id for each in page] == [ids[4], ids[3]]
    seen = replace(ours("event-4"), made_at=START + TICK)
    assert (page[0].seen, page[0].stamped_at) == (seen, START), "dated inside its grant"
    assert (page[0].is_late, page[0].stored_at, page[0].batch_id) == (False, START, None)
    rest = await world.insight.records.detections(Recent(scope=None, before=ids[3]))
    assert [each.detection_id for each in rest] == ids[2::-1]


async def test_which_thing_it_is_and_where_it_stands_is_read_with_a_detection(world: World):
    await with_two_tenants(world.store)
    farthest = replace(FOLLOWED, track_id=2**63 - 1, zones=())
    await admitted(world, a_seen(detection=FOLLOWED), a_seen(index=1, detection=farthest), a_seen(index=2))
    found = await world.insight.records.detections(Recent(scope=OURS))
    assert [each.seen.detection for each in found] == [PERSON, farthest, FOLLOWED]


async def test_nobody_reads_another_tenant_s_detections_and_batches(world: World):
    await with_two_tenants(world.store)
    our_id, their_id = await admitted(world, ours("a"), theirs("b"))
    theirs_closed = a_sealed([their_id], number=2, tenant=THEIRS, camera_id=THEIR_CAMERA)
    await world.insight.batches.close_batch(a_sealed([our_id]))
    await world.insight.batches.close_batch(theirs_closed)
    records = world.insight.records
    for scope, detection_id, number in ((OURS, our_id, 1), (THEIRS, their_id, 2)):
        assert [each.detection_id for each in await records.detections(Recent(scope=scope))] == [detection_id]
        assert [each.batch.batch_id for each in await records.batches(Recent(scope=scope))] == [a_batch_id(number)]
    assert await records.detections(Recent(scope=OURS, camera_id=THEIR_CAMERA)) == []
    assert await records.batches(Recent(scope=OURS, camera_id=THEIR_CAMERA)) == []
    assert await records.find_batch(a_batch_id(2), scope=OURS) is None
    assert await records.detections_of(a_batch_id(2), scope=OURS) == []
    assert (await records.find_batch(a_batch_id(2), scope=THEIRS)) is not None
    assert len(await records.detections_of(a_batch_id(2), scope=None)) == 1


async def test_a_listing_can_be_of_one_camera(world: World):
    await with_two_tenants(world.store)
    our_id, their_id = await admitted(world, ours("a"), theirs("b"))
    await world.insight.batches.close_batch(a_sealed([our_id]))
    records = world.insight.records
    found = await records.detections(Recent(scope=None, camera_id=THEIR_CAMERA))
    assert [each.detection_id for each in found] == [their_id]
    assert await records.batches(Recent(scope=None, camera_id=THEIR_CAMERA)) == []
    assert len(await records.batches(Recent(scope=None, camera_id=OUR_CAMERA))) == 1


async def test_a_batch_is_read_with_its_detections_in_their_order_and_whether_it_was_told(world: World):
    await with_two_tenants(world.store)
    one, two = await admitted(world, ours("a"), ours("b"))
    batch = a_sealed([two, one], closed_at=at(3))
    await world.insight.batches.close_batch(batch)
    records = world.insight.records
    assert [each.detection_id for each in await records.detections_of(batch.batch_id, scope=OURS)] == [two, one]
    [found] = await records.batches(Recent(scope=OURS))
    assert (found.batch, found.is_told) == (batch, False)
    await world.insight.batches.told([found.position])
    assert await records.find_batch(batch.batch_id, scope=OURS) == replace(found, is_told=True)


async def test_batches_are_read_newest_first_and_without_those_taken_back(world: World):
    await with_two_tenants(world.store)
    ids = await admitted(world, *(ours(f"event-{number}") for number in range(4)))
    for number, each in enumerate(ids):
        await world.insight.batches.close_batch(a_sealed([each], number=number))
    await world.insight.batches.reopen(a_batch_id(2))
    page = await world.insight.records.batches(Recent(scope=OURS, limit=2))
    assert [each.batch.batch_id for each in page] == [a_batch_id(3), a_batch_id(1)]
    rest = await world.insight.records.batches(Recent(scope=OURS, before=page[1].position))
    assert [each.batch.batch_id for each in rest] == [a_batch_id(0)]


async def with_closed_batches(world: World, *numbers: int) -> None:
    await with_two_tenants(world.store)
    ids = await admitted(world, *(ours(f"event-{number}") for number in numbers))
    for number, each in zip(numbers, ids, strict=True):
        await world.insight.batches.close_batch(a_sealed([each], number=number))


async def test_an_analysis_of_a_batch_that_is_not_stored_is_not_kept(world: World):
    assert not await world.insight.analyses.save(an_analysis(1))
    await with_closed_batches(world, 1)
    assert not await world.insight.analyses.save(an_analysis(1, tenant=THEIRS))
    assert await world.insight.analyses.page(Recent(scope=None)) == []


async def test_a_batch_is_analysed_once(world: World):
    await with_closed_batches(world, 1)
    assert await world.insight.analyses.save(an_analysis(1))
    await world.sleep(5)
    assert not await world.insight.analyses.save(an_analysis(1, risk=9))
    found = await world.insight.analyses.find(a_batch_id(1), scope=OURS)
    assert found is not None
    assert (found.analysis, found.at) == (an_analysis(1), START)


async def test_analyses_are_read_by_tenant_and_camera_newest_first(world: World):
    await with_closed_batches(world, *range(4))
    [their_id] = await admitted(world, theirs("theirs"))
    await world.insight.batches.close_batch(a_sealed([their_id], number=9, tenant=THEIRS, camera_id=THEIR_CAMERA))
    for number in range(4):
        await world.insight.analyses.save(an_analysis(number))
    await world.insight.analyses.save(an_analysis(9, tenant=THEIRS, camera_id=THEIR_CAMERA))
    analyses = world.insight.analyses
    page = await analyses.page(Recent(scope=OURS, limit=2))
    assert [each.analysis.batch_id for each in page] == [a_batch_id(3), a_batch_id(2)]
    rest = await analyses.page(Recent(scope=OURS, before=page[1].position, camera_id=OUR_CAMERA))
    assert [each.analysis.batch_id for each in rest] == [a_batch_id(1), a_batch_id(0)]
    assert await analyses.page(Recent(scope=OURS, camera_id=THEIR_CAMERA)) == []
    assert await analyses.find(a_batch_id(9), scope=OURS) is None
    assert len(await analyses.page(Recent(scope=None))) == 5


async def test_what_is_old_is_forgotten_in_small_steps_each_tenant_s_by_its_own_time(world: World):
    await with_two_tenants(world.store)
    ids = await admitted(world, *(ours(f"event-{number}") for number in range(3)))
    [their_id] = await admitted(world, theirs("theirs"))
    for number, each in enumerate(ids):
        await world.insight.batches.close_batch(a_sealed([each], number=number))
        await world.insight.analyses.save(an_analysis(number))
    their_batch = a_sealed([their_id], number=9, tenant=THEIRS, camera_id=THEIR_CAMERA)
    await world.insight.batches.close_batch(their_batch)
    await world.sleep(DAY + 1)
    kept = {THEIRS: 2 * DAY}
    records = world.insight.records
    assert [await records.prune(kept, otherwise=DAY, limit=2) for _ in range(3)] == [2, 1, 0]
    assert [each.detection_id for each in await records.detections(Recent(scope=None))] == [their_id]
    assert [each.batch.batch_id for each in await records.batches(Recent(scope=None))] == [a_batch_id(9)]
    assert await world.insight.analyses.page(Recent(scope=None)) == []


async def test_much_can_be_forgotten_at_once(world: World):
    await with_two_tenants(world.store)
    ids = await admitted(world, *(ours(f"event-{number}") for number in range(50)))
    for number, each in enumerate(ids):
        await world.insight.batches.close_batch(a_sealed([each], number=number))
    await world.sleep(DAY + 1)
    assert await world.insight.records.prune({}, otherwise=DAY, limit=45) == 45
    assert await world.insight.records.prune({}, otherwise=DAY, limit=45) == 5


async def test_what_is_exactly_as_old_as_may_be_is_kept(world: World):
    await with_two_tenants(world.store)
    await world.insight.batches.close_batch(a_sealed(await admitted(world, ours("a"))))
    await world.sleep(DAY)
    assert await world.insight.records.prune({}, otherwise=DAY, limit=9) == 0
    await world.sleep(0.001)
    assert await world.insight.records.prune({}, otherwise=DAY, limit=9) == 1


async def test_what_is_in_no_batch_yet_is_not_forgotten(world: World):
    await with_two_tenants(world.store)
    await admitted(world, ours("a"))
    await world.sleep(10 * DAY)
    assert await world.insight.records.prune({}, otherwise=DAY, limit=9) == 0
    assert len(await world.insight.records.detections(Recent(scope=OURS))) == 1


async def test_the_age_of_the_oldest_batches_is_that_of_the_newest_among_them(world: World):
    await with_two_tenants(world.store)
    records = world.insight.records
    assert await records.age(batches=2) is None
    ids = await admitted(world, *(ours(f"event-{number}") for number in range(3)))
    for number, each in enumerate(ids):
        await world.insight.batches.close_batch(a_sealed([each], number=number, closed_at=at(10.0 * number)))
    await world.sleep(100)
    assert [await records.age(batches=some) for some in (1, 2, 3, 9)] == [100.0, 90.0, 80.0, 80.0]


async def test_only_an_embedded_database_has_a_size_which_what_is_removed_does_not_count_in(world: World):
    await with_two_tenants(world.store)
    before = await world.insight.records.size()
    if before is None:
        return
    ids = await admitted(world, *(ours(f"event-{number}") for number in range(1000)))
    await world.insight.batches.close_batch(a_sealed(ids))
    full = await world.insight.records.size()
    assert full is not None
    assert full > before + 100 * len(ids)
    await world.sleep(DAY + 1)
    assert await world.insight.records.prune({}, otherwise=DAY, limit=9) == 1
    left = await world.insight.records.size()
    assert left is not None
    assert left < before + (full - before) / 10


async def test_batches_are_found_by_the_beginning_of_their_ids_each_tenant_s_own(world: World):
    await with_two_tenants(world.store)
    ids = await admitted(world, *(ours(f"event-{number}") for number in range(3)))
    [their_id] = await admitted(world, theirs("theirs"))
    names = [BatchId(f"batch-{start}{'0' * 24}") for start in ("1a2b3c4d", "1a2b3c4f", "1a2b4000")]
    for name, each in zip(names, ids, strict=True):
        await world.insight.batches.close_batch(replace(a_sealed([each]), batch_id=name))
    their_name = BatchId(f"batch-1a2b3c4d{'f' * 24}")
    sealed = a_sealed([their_id], tenant=THEIRS, camera_id=THEIR_CAMERA)
    await world.insight.batches.close_batch(replace(sealed, batch_id=their_name))
    found = world.insight.records.batch_ids
    assert await found("batch-1a2b3c4d", scope=OURS, limit=2) == [names[0]]
    assert await found("batch-1a2b3c4d", scope=THEIRS, limit=2) == [their_name]
    assert await found("batch-1a2b3c4d", scope=None, limit=9) == [names[0], their_name]
    assert await found("batch-1a2b3c4d", scope=None, limit=1) == [names[0]]
    assert await found("batch-1a2b", scope=OURS, limit=9) == names
    assert await found(names[2], scope=OURS, limit=9) == [names[2]]
    assert await found("batch-1a2c", scope=OURS, limit=9) == []
    await world.insight.batches.reopen(names[2])
    assert await found("batch-1a2b4", scope=OURS, limit=9) == []
