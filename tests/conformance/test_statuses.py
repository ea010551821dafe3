"""The status port, on every driver."""

from dataclasses import replace

from streamward.model.ids import CameraId, Generation, ShardId
from streamward.model.status import StreamState, Substate
from tests.support.builders import CAMERA, START, a_status, an_owner, at
from tests.support.fleet import named, take, with_cameras, with_runners
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")


async def with_a_lease(world: World) -> None:
    await with_cameras(world.store)
    await with_runners(world.store, ONE, TWO)
    await take(world.store, ONE)


async def test_a_report_of_the_owner_is_kept_whole(world: World):
    await with_a_lease(world)
    report = replace(
        a_status(state=StreamState.DISCONNECTED, generation=1),
        shard_id=ShardId("shard-1"),
        substate=Substate.PARKED,
        error_code="rtsp-401",
        error_detail="the camera – refused it",
        retry_at=at(9),
        fps=5.5,
        last_frame_ts=at(1),
        last_frame_age_s=2.5,
    )
    assert await world.store.record([report]) == 1
    assert await world.store.find_status(CAMERA) == report


async def test_a_report_of_anybody_else_is_ignored(world: World):
    await with_a_lease(world)
    assert await world.store.record([a_status(owner=TWO), a_status("cam-9"), a_status(generation=2)]) == 0
    await world.store.release(ONE, [named()])
    assert await world.store.record([a_status()]) == 0
    assert await world.store.find_status(CAMERA) is None


async def test_the_store_notes_when_and_in_which_generation_a_stream_last_ran(world: World):
    await with_a_lease(world)
    await world.store.record([a_status()])
    await world.advance(5)
    await world.store.record([a_status(state=StreamState.CONNECTING)])
    found = await world.store.find_status(CAMERA)
    assert found is not None
    assert (found.state, found.streamed_at, found.streamed_generation) == (StreamState.CONNECTING, START, 1)


async def test_of_several_reports_of_one_camera_the_last_counts_and_none_is_missed(world: World):
    await with_a_lease(world)
    reports = [a_status(state=state) for state in (StreamState.STREAMING, StreamState.DISCONNECTED)]
    assert await world.store.record(reports) == 2
    found = await world.store.find_status(CAMERA)
    assert found is not None
    assert (found.state, found.streamed_generation) == (StreamState.DISCONNECTED, 1)


async def test_reports_of_many_cameras_go_together(world: World):
    await with_cameras(world.store, "cam-1", "cam-2", "cam-3")
    await with_runners(world.store, ONE)
    for camera_id in ("cam-1", "cam-3"):
        await take(world.store, ONE, camera_id)
    assert await world.store.record([a_status(camera_id) for camera_id in ("cam-3", "cam-2", "cam-1")]) == 2
    assert await world.store.find_status(CameraId("cam-2")) is None


async def test_nothing_to_report_is_no_error(world: World):
    assert await world.store.record([]) == 0


async def test_a_new_owner_reports_in_its_generation(world: World):
    await with_a_lease(world)
    await world.store.record([a_status()])
    await world.store.release(ONE, [named()])
    lease = await take(world.store, TWO)
    assert await world.store.record([a_status(owner=ONE)]) == 0
    assert await world.store.record([a_status(owner=TWO, generation=lease.generation)]) == 1
    found = await world.store.find_status(CAMERA)
    assert found is not None
    assert found.streamed_generation == Generation(2)
