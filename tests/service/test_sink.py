"""A Worker's way out: what must not be lost goes to the outbox, the rest is told now or never."""

import asyncio
from pathlib import Path
from typing import Any

from streamward.model.bus import BusAway, Published
from streamward.model.message import MOST_BYTES, Message
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent, DetectionsLost, Latency, SeenThing, WorkerAlive
from streamward.runner.facts import EventNotKept
from streamward.runner.metrics import WorkerMetrics
from streamward.runner.sink import BusSink, Sender, tell_gap
from streamward.runtime.journal import Journal
from streamward.runtime.outbox import MessageRefused, Outbox, PublishingFailed, SpoolRelay
from streamward.runtime.spool import Gap, Spool
from streamward.runtime.teller import Teller
from streamward.runtime.virtual_time import run
from tests.support.builders import START
from tests.support.clocks import LoopClock

SENDER = Sender(runner_id="r1", shard_id="s0", ex_detect="detections.topic", ex_status="status.topic")
KEY = "detections.acme.site-1.cam-1"


class FakeBus:
    """Takes everything."""

    def __init__(self) -> None:
        self.taken: list[Message] = []

    async def publish(self, message: Message) -> Published:
        self.taken.append(message)
        return Published()

    async def close(self) -> None: ...


def an_event(things: int) -> DetectionEvent:
    thing = SeenThing(label="person", conf=0.9, bbox_xyxy=[1.0, 2.0, 3.0, 4.0])
    return DetectionEvent(
        ts=START,
        runner_id="r1",
        shard_id="s0",
        tenant_id="acme",
        site_id="site-1",
        camera_uuid="cam-1",
        frame_id=7,
        fps=5.0,
        detections=[thing] * things,
        latency=Latency(inference_s=0.01, e2e_s=0.02),
        generation=3,
        epoch=1,
        incarnation="inc-1",
        seq=1,
        event_id="cam-1.3.1.7",
    )


def played(folder: Path, *events: DetectionEvent) -> tuple[list[Message], list[Any], WorkerMetrics]:
    """Events through a sink to the bus: what arrived, what was told of it, and what was counted."""
    bus, journal, told = FakeBus(), Journal(), list[Any]()
    metrics = WorkerMetrics(runner_id="r1", shard_id="s0")
    journal.subscribe(told.append)
    journal.subscribe(metrics.count)

    async def main() -> None:
        spool = Spool(folder, most_bytes=10 * 2**20)
        gap = tell_gap(SENDER, "acme", LoopClock().wall)
        relay = SpoolRelay(spool, bus, tell_gap=gap, journal=journal, clock=LoopClock())
        async with Outbox(relay, journal=journal) as outbox, Teller(bus, journal=journal, clock=LoopClock()) as teller:
            sink = BusSink(SENDER, outbox=outbox, teller=teller, journal=journal)
            for event in events:
                sink.keep(KEY, event.event_id, event)
            alive = WorkerAlive(runner_id="r1", shard_id="s0", incarnation=None, ts=START, streams=1, streaming=1)
            sink.beat(alive)
            await sink.emptied()
            await asyncio.sleep(1)

    run(main())
    return bus.taken, told, metrics


def test_events_are_mandatory_and_heartbeats_are_brief(tmp_path):
    taken, _, metrics = played(tmp_path / "spool", an_event(1))
    event, beat = sorted(taken, key=lambda message: message.kind)
    assert (event.kind, event.is_mandatory, event.is_persistent, event.expires_in) == ("detections", True, True, None)
    assert (beat.routing_key, beat.is_persistent, beat.expires_in) == ("worker.heartbeat.r1.s0", False, 10.0)
    assert "messages_published_total 1.0" in metrics.render().decode()


def test_an_event_that_nobody_can_take_is_counted_and_the_next_one_goes_on(tmp_path):
    taken, told, metrics = played(tmp_path / "spool", an_event(MOST_BYTES // 20), an_event(1))
    assert [message.kind for message in taken if message.is_mandatory] == ["detections"]
    assert [type(fact) for fact in told if isinstance(fact, EventNotKept)] == [EventNotKept]
    assert "events_lost_total 1.0" in metrics.render().decode()


def test_what_the_bus_does_not_take_is_counted():
    metrics = WorkerMetrics(runner_id="r1", shard_id="s0")
    metrics.count(PublishingFailed(error=MessageRefused("detections.t", "no queue wants it"), times=3))
    metrics.count(PublishingFailed(error=BusAway("there", "away", retry_in=1.0), times=5))
    assert "publishes_refused_total 3.0" in metrics.render().decode()


def test_a_gap_is_told_beside_the_detections_with_its_exact_count(tmp_path):
    spool = Spool(tmp_path / "s0.abc", most_bytes=10 * 2**20)
    message = tell_gap(SENDER, "acme", lambda: START)(spool, Gap(3, 10))
    spool.close()
    lost = codec.decode(message.body, DetectionsLost)
    assert (lost.first, lost.count, lost.spool) == (3, 7, "s0.abc")
    assert (message.routing_key, message.is_mandatory) == ("gap.acme.r1.s0", True)
