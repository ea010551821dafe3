"""A camera that a Worker watches without speaking of it, and what it then says."""

import asyncio

from streamward.model.ids import CameraId
from streamward.protocol.events import StreamFailed
from streamward.protocol.streams import StreamReport
from streamward.runner.parts import LastWord
from tests.support.scripted_worker import Plant, of


async def test_a_muted_camera_is_watched_and_speaks_of_what_it_saw_when_it_is_let():
    plant, camera = Plant("cam-1"), CameraId("cam-1")
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[0], is_muted=True)
    await plant.heard.until(lambda: plant.heard.shown)
    assert not plant.heard.events
    assert not plant.heard.told
    assert plant.worker.mute(camera) == LastWord()
    assert "cam-1" not in plant.worker.metrics.render().decode()  # it stands there once: of who speaks of it
    plant.worker.unmute(camera, after=0.0)
    assert plant.heard.events
    assert 'stream_up{camera_uuid="cam-1"} 1.0' in plant.worker.metrics.render().decode()
    assert [report.state for report in of(StreamReport, plant.heard)] == ["STREAMING"]
    last = await plant.worker.drop(camera)
    task.cancel()
    await asyncio.wait([task])
    assert [report.state for report in of(StreamReport, plant.heard)] == ["STREAMING", "DISCONNECTED"]
    assert last.made_until == plant.heard.events[-1][2].ts
    plant.worker.unmute(camera, after=0.0)
    assert await plant.worker.drop(CameraId("nobody")) == LastWord()


async def test_who_watches_a_camera_no_more_may_have_spoken_of_it_until_now():
    plant, camera = Plant("cam-1"), CameraId("cam-1")
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[0])
    await plant.heard.until(lambda: plant.heard.events)
    last = await plant.worker.drop(camera)
    asked = plant.worker.mute(camera)
    task.cancel()
    await asyncio.wait([task])
    assert last.arrived is not None
    assert asked.arrived is not None
    assert asked.arrived > last.arrived


async def test_of_a_camera_that_is_silent_or_gone_no_failure_is_counted():
    plant = Plant("cam-2")
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[1], is_muted=True)
    await plant.heard.until(lambda: plant.heard.dialed)
    silent = plant.worker.metrics.render().decode()
    plant.worker.unmute(CameraId("cam-2"), after=0.0)
    await plant.heard.until(lambda: of(StreamFailed, plant.heard))
    counted = plant.worker.metrics.render().decode()
    await plant.worker.drop(CameraId("cam-2"))
    task.cancel()
    await asyncio.wait([task])
    assert ["cam-2" in text for text in (silent, counted)] == [False, True]
    assert "cam-2" not in plant.worker.metrics.render().decode()


async def test_a_camera_that_another_announces_is_let_go_without_a_word():
    """Neither one that was never heard of, nor one that a Worker of this runner goes on with."""
    plant, camera = Plant("cam-1"), CameraId("cam-1")
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[0], is_muted=True)
    await plant.heard.until(lambda: plant.heard.shown)
    await plant.worker.drop(camera)
    assert not plant.heard.told
    plant.worker.add(plant.config.sources[0])
    await plant.heard.until(lambda: plant.heard.events)
    plant.worker.mute(camera)
    assert "cam-1" not in plant.worker.metrics.render().decode()
    await plant.worker.drop(camera)
    task.cancel()
    await asyncio.wait([task])
    assert "DISCONNECTED" not in {report.state for report in of(StreamReport, plant.heard)}


async def test_a_camera_that_goes_to_another_runner_is_announced_as_disconnected_once_and_again_if_it_stays():
    plant, camera = Plant("cam-1"), CameraId("cam-1")
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[0])
    await plant.heard.until(lambda: [each for each in of(StreamReport, plant.heard) if each.state == "STREAMING"])
    plant.worker.mute(camera, is_final=True)
    states = [report.state for report in of(StreamReport, plant.heard)]
    assert (states[-1], states.count("DISCONNECTED")) == ("DISCONNECTED", 1)
    plant.worker.mute(camera, is_final=True)
    plant.worker.unmute(camera, after=0.0)
    await plant.worker.drop(camera)
    task.cancel()
    await asyncio.wait([task])
    last = [report.state for report in of(StreamReport, plant.heard)][len(states) - 1 :]
    assert last == ["DISCONNECTED", "STREAMING", "DISCONNECTED"]
