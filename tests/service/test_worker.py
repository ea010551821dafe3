"""A Worker with cameras that are scripts: what they show becomes events, and what is wrong with them is told."""

import asyncio
from itertools import groupby

import msgspec

from streamward.model.ids import CameraId
from streamward.nvr.scene import make_scene
from streamward.protocol import codec
from streamward.protocol.events import StreamFailed
from streamward.protocol.shards import Source
from streamward.protocol.streams import StreamReport
from streamward.runner import facts
from streamward.runtime.clock import SystemClock
from tests.support.scripted_worker import FORBIDDEN, PICTURE, SHARD, Leases, Plant, of, shard


async def test_what_a_camera_shows_becomes_events_with_the_stamp_of_its_lease():
    plant = Plant("cam-1", "cam-2")
    await plant.run(lambda: plant.heard.events)
    key, event_id, event = plant.heard.events[0]
    assert key == "detections.t-01.site-1.cam-1"
    assert event_id == event.event_id == f"cam-1.3.7.{event.frame_id}"
    assert (event.generation, event.epoch, event.incarnation, event.seq) == (3, 7, "inc-1", 1)
    truth = make_scene(1, PICTURE).truth(event.frame_id - 1)
    assert sorted(each.label for each in event.detections) == sorted(label for label, _ in truth)
    assert event.latency.e2e_s >= event.latency.inference_s >= 0


async def test_without_a_lease_nothing_leaves():
    plant = Plant()
    await plant.run(lambda: any(report.state == "STREAMING" for report in of(StreamReport, plant.heard)))
    assert plant.heard.events == []


async def test_states_and_failures_are_told():
    plant = Plant("cam-1")
    await plant.run(
        lambda: (
            of(StreamFailed, plant.heard)
            and any(report.state == "STREAMING" for report in of(StreamReport, plant.heard))
        )
    )
    failed = of(StreamFailed, plant.heard)[0]
    assert (failed.camera_uuid, failed.code, failed.type) == ("cam-2", "TCP_REFUSED", "stream.error")
    assert failed.retry_in_ms > 0
    assert not plant.was_ready  # one of two


async def test_a_state_that_lasts_for_no_time_at_all_is_told_too():
    plant = Plant("cam-1")
    await plant.run(lambda: len(of(StreamFailed, plant.heard)) >= 2)
    states = [report.state for report in of(StreamReport, plant.heard) if report.camera_uuid == "cam-2"]
    assert [state for state, _ in groupby(states)][:4] == ["CONNECTING", "DISCONNECTED"] * 2


async def test_what_must_not_be_processed_reaches_neither_model_nor_disk_nor_bus():
    plant = Plant("cam-1", "cam-2", "cam-3")
    await plant.run(lambda: plant.heard.events)
    assert "cam-3" not in plant.dialed
    keys = [key for key, _, _ in plant.heard.events] + [key for key, _ in plant.heard.told]
    assert not [key for key in keys if "cam-3" in key]
    assert not [word for word in plant.watchdog.heard if "cam-3" in word]
    assert "cam-3" not in plant.page


async def test_a_watched_camera_that_must_not_be_processed_any_more_is_let_go_at_once():
    plant = Plant("cam-1")
    task = asyncio.ensure_future(plant.worker.run())
    for source in plant.config.sources:
        plant.worker.add(source)
    await plant.heard.until(lambda: plant.heard.events)
    plant.worker.add(codec.decode(FORBIDDEN, Source))
    before = len(plant.heard.events)
    await plant.heard.until(lambda: len(of(StreamFailed, plant.heard)) >= 2)  # cam-2 goes on to be tried
    assert len(plant.heard.events) == before
    assert "cam-1" not in plant.worker.conditions
    assert "cam-1" not in plant.worker.metrics.render().decode()
    task.cancel()
    await asyncio.wait([task])


async def test_a_detector_that_raises_is_counted_and_told_and_the_other_cameras_go_on():
    plant = Plant("cam-1", "cam-4", shard=shard("cam-1", "cam-4 broken"))
    await plant.run(lambda: plant.heard.events and of(StreamFailed, plant.heard))
    failed = of(StreamFailed, plant.heard)[0]
    assert (failed.camera_uuid, failed.code) == ("cam-4", "DETECTOR_FAILED")
    assert failed.detail.startswith("ValueError in detect, line ")
    assert {event.camera_uuid for *_, event in plant.heard.events} == {"cam-1"}
    assert 'stream_errors_total{camera_uuid="cam-4",code="DETECTOR_FAILED"}' in plant.page


async def test_a_camera_whose_detector_fails_streams_degraded():
    plant = Plant("cam-1", "cam-4", shard=shard("cam-1", "cam-4 broken"))
    await plant.run(lambda: [each for each in of(StreamReport, plant.heard) if each.substate == "DEGRADED"])
    report = next(each for each in of(StreamReport, plant.heard) if each.substate == "DEGRADED")
    assert (report.camera_uuid, report.state, report.error_code) == ("cam-4", "STREAMING", "DETECTOR_FAILED")


async def test_a_camera_whose_detector_cannot_be_had_is_told_and_not_dialed():
    plant = Plant("cam-1", "cam-4", shard=shard("cam-1", "cam-4 gone"))
    await plant.run(lambda: plant.heard.events and of(StreamFailed, plant.heard))
    failed = of(StreamFailed, plant.heard)[0]
    assert (failed.camera_uuid, failed.detail) == ("cam-4", "the detector gone cannot be used: it is not there")
    assert [report.error_code for report in of(StreamReport, plant.heard) if report.state == "DISCONNECTED"]
    assert plant.dialed == ["cam-1"]


async def test_a_camera_whose_source_is_not_allowed_is_told_and_not_dialed():
    plant = Plant("cam-1", "cam-5", shard=shard("cam-5", "cam-1"))
    await plant.run(lambda: plant.heard.events)
    failed = of(StreamFailed, plant.heard)[0]
    assert (failed.camera_uuid, failed.code) == ("cam-5", "URL_FORBIDDEN")
    assert plant.dialed == ["cam-1"]


async def test_a_camera_is_looked_at_by_its_own_detector_or_else_the_shards():
    plant = Plant("cam-1", "cam-4", shard=shard("cam-1", "cam-4 other"))
    await plant.run(lambda: {"cam-1", "cam-4"} == {event.camera_uuid for *_, event in plant.heard.events})
    assert set(plant.shown) == {"colour", "other"}


async def test_a_cameras_zones_say_what_of_it_is_told():
    plant = Plant(
        "cam-1", shard=SHARD.replace(b'"epoch":7', b'"zones":[{"name":"z","points":[[0,0],[0.1,0],[0,0.1]]}]')
    )
    await plant.run(lambda: plant.heard.events)
    assert [event.detections for *_, event in plant.heard.events] == [[]] * len(plant.heard.events)


async def test_who_stands_in_a_zone_has_entered_it_once_and_is_the_same_in_each_event():
    zone = b'"zones":[{"name":"all","points":[[0,0],[1,0],[1,1],[0,1]]}]'
    plant = Plant("cam-1", shard=SHARD.replace(b'"epoch":7', zone))
    await plant.run(lambda: len(plant.heard.events) >= 3)
    events = [event for *_, event in plant.heard.events]
    seen = {thing.track_id for event in events for thing in event.detections}
    assert {each for event in events for thing in event.detections for each in thing.zones} == {"all"}
    entered = [each for event in events for each in event.zone_events if each.type == "enter"]
    assert sorted(each.track_id for each in entered) == sorted(each for each in seen if each is not None) != []
    assert events[0].zone_events[0].ts == events[0].ts


async def test_watchdogs_hear_what_the_pipeline_does_and_are_nobodys_risk():
    plant = Plant("cam-1")
    wanted = {"CONNECTING cam-1", "frame cam-1", "look cam-1", "seen cam-1", "STREAMING cam-1", "TCP_REFUSED cam-2"}
    asyncio.get_running_loop().set_exception_handler(lambda *_: plant.heard.changed.set())
    await plant.run(lambda: wanted <= set(plant.watchdog.heard))
    assert plant.heard.events


async def test_metrics_are_told_in_the_specifications_words():
    plant = Plant("cam-1")
    await plant.run(lambda: plant.heard.events)
    text = plant.worker.metrics.render().decode()
    for name in (
        "stream_up",
        "stream_fps",
        "last_frame_age_seconds",
        "inference_latency_seconds",
        "e2e_latency_seconds",
        "event_hand_off_seconds",
    ):
        assert f"# TYPE {name} " in text


async def test_the_first_dial_and_the_first_frame_are_told_once():
    plant = Plant("cam-1")
    await plant.run(lambda: plant.heard.events and of(StreamFailed, plant.heard))
    assert (plant.heard.shown, sorted(plant.heard.dialed)) == (["cam-1"], ["cam-1", "cam-2"])
    assert [fact.camera_id for fact in plant.facts if isinstance(fact, facts.StreamBegan)] == ["cam-1"]
    retries = [fact for fact in plant.facts if isinstance(fact, facts.RtspConnectRetry)]
    assert (retries[0].camera_id, retries[0].error_code, retries[0].tenant_id) == ("cam-2", "TCP_REFUSED", "t-01")
    assert retries[0].is_warning


async def test_what_is_wrong_with_a_stream_that_goes_on_is_logged_as_an_error_and_not_as_a_retry():
    plant = Plant("cam-4", shard=shard("cam-4 broken"))
    await plant.run(lambda: of(StreamFailed, plant.heard))
    errors = [fact for fact in plant.facts if isinstance(fact, facts.StreamError)]
    assert (errors[0].camera_id, errors[0].error_code, errors[0].tenant_id) == ("cam-4", "DETECTOR_FAILED", "t-01")
    assert errors[0].is_warning
    assert not [fact for fact in plant.facts if isinstance(fact, facts.RtspConnectRetry)]


async def test_a_camera_that_is_dropped_twice_has_stopped_when_it_has_and_says_which_it_was():
    plant = Plant("cam-1")
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[0])
    await plant.heard.until(lambda: plant.heard.events)
    words = await asyncio.gather(*(plant.worker.drop(CameraId("cam-1")) for _ in range(2)))
    assert words[0] == words[1]
    assert (words[0].epoch, words[0].made_until) == (7, plant.heard.events[-1][2].ts)
    task.cancel()
    await asyncio.wait([task])


async def test_what_was_seen_before_a_camera_was_added_anew_makes_no_event():
    plant = Plant("cam-1")
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[0])
    await plant.heard.until(lambda: plant.heard.events)
    await plant.worker.drop(CameraId("cam-1"))
    plant.worker.add(msgspec.structs.replace(plant.config.sources[0], epoch=8))
    again = SystemClock().boot()
    await plant.heard.until(lambda: plant.heard.events[-1][2].epoch == 8)
    task.cancel()
    await asyncio.wait([task])
    names = [event_id for _, event_id, _ in plant.heard.events]
    assert len(names) == len(set(names))
    assert min(event.ts for *_, event in plant.heard.events if event.epoch == 8) >= Leases(set()).database_time(again)


async def test_a_worker_that_ends_announces_every_stream_as_disconnected():
    plant = Plant("cam-1", "cam-4", shard=shard("cam-1", "cam-4"))
    await plant.run(lambda: {"cam-1", "cam-4"} == {event.camera_uuid for *_, event in plant.heard.events})
    last = {report.camera_uuid: report for report in of(StreamReport, plant.heard)}
    assert {name: report.state for name, report in last.items()} == {"cam-1": "DISCONNECTED", "cam-4": "DISCONNECTED"}
    assert plant.heard.told[-1][0].startswith("stream.status.t-01.site-1.")
    assert {report.error_code for report in last.values()} == {None}


async def test_a_stream_that_was_disconnected_before_it_was_dropped_is_not_announced_again():
    plant = Plant()
    task = asyncio.ensure_future(plant.worker.run())
    plant.worker.add(plant.config.sources[1])
    await plant.heard.until(lambda: of(StreamFailed, plant.heard))
    before = [report.state for report in of(StreamReport, plant.heard)]
    await plant.worker.drop(CameraId("cam-2"))
    task.cancel()
    await asyncio.wait([task])
    after = [report.state for report in of(StreamReport, plant.heard)]
    assert after == (before if before[-1] == "DISCONNECTED" else [*before, "DISCONNECTED"])


async def test_a_managed_worker_is_ready_by_the_cameras_of_its_shard_and_not_by_those_it_was_given():
    plant = Plant("cam-1", "cam-4", shard=shard("cam-1", "cam-4"), is_managed=True)
    task = asyncio.ensure_future(plant.worker.run())
    assert not plant.worker.is_ready, "it does not know its cameras yet"
    plant.worker.expect([CameraId("cam-1"), CameraId("cam-4")])
    plant.worker.add(plant.config.sources[0])
    await plant.heard.until(lambda: plant.heard.events)
    assert not plant.worker.is_ready, "one of two; the other waits for its dial"
    plant.worker.add(plant.config.sources[1])
    await plant.heard.until(lambda: len(plant.heard.shown) == 2)
    assert plant.worker.is_ready
    plant.worker.expect([])
    assert plant.worker.is_ready
    task.cancel()
    await asyncio.wait([task])
