"""Closer, sweeper, relay and herald of a batcher, ticked by hand."""

import json
from datetime import timedelta
from typing import Any

import pytest

from streamward.batcher.facts import (
    AnalysisHeld,
    BatchClosed,
    BroadcastsDropped,
    DetectionsAddedAgain,
    RetentionShortened,
)
from streamward.batcher.herald import MOST_WAITING, Herald
from streamward.batcher.known_rules import READ_EVERY
from streamward.batcher.pruner import PRUNE_EVERY, SOME_OVER_SIZE, Pruner
from streamward.batcher.relay import HELD_AT, HELD_FOR, LOOK_EVERY, OTHERS_AFTER, BatchRefused, Relay
from streamward.batcher.sweeper import FRESH, MARGIN, SWEEP_EVERY
from streamward.drivers.memory.bus import MemoryBus
from streamward.drivers.memory.database import MemoryDatabase
from streamward.drivers.memory.detections import MemoryRecords
from streamward.drivers.memory.open_batches import MemoryOpenBatches
from streamward.insight.batch import BatchId, Limits
from streamward.insight.rules import Rules
from streamward.insight.store import IndexAway
from streamward.leases.store import StoreUnavailable
from streamward.model.bus import Published, Refused
from streamward.model.message import Message
from streamward.protocol.batches import ANALYSIS, EXCHANGE, DetectionNew
from tests.support.batch_desk import Desk, Failing, a_crossing
from tests.support.builders import CAMERA, TENANT
from tests.support.buses import a_message
from tests.support.clocks import START


class Counting:
    """An index that counts how often it is asked for what is due."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self.asked = 0

    def __getattr__(self, name: str) -> Any:
        self.asked += name == "seal_due"
        return getattr(self._index, name)


async def until(desk: Desk, second: float) -> None:
    """Lets time pass, with a look for due batches at the end."""
    desk.clock.advance(second - desk.clock.boot())
    await desk.batcher.closer.tick()


async def seen_at(desk: Desk, *seconds: float, checked: bool = True) -> None:
    """Detections that arrive when they are made; the closer looks before each, unless it is to come after them."""
    for second in seconds:
        desk.clock.advance(second - desk.clock.boot())
        if checked:
            await desk.batcher.closer.tick()
        await desk.see(0)
        await desk.take_in()


async def test_the_timeline_of_s2_closes_by_idle_time_at_the_check_after_thirty_seconds():
    desk = Desk()
    await seen_at(desk, 0, 5, 15)
    await until(desk, 45)
    await seen_at(desk, 50, checked=False)
    await until(desk, 80.001)
    (closed,) = desk.of(BatchClosed)
    assert (closed.detections, closed.reason) == (4, "idle_timeout")


async def test_the_timeline_of_s2_closes_by_its_window_after_ninety_seconds_whatever_arrives():
    desk = Desk()
    await seen_at(desk, 0, 5, 15)
    await until(desk, 45)
    await seen_at(desk, 50, checked=False)
    await seen_at(desk, 60, 75)
    await until(desk, 89.9)
    assert desk.of(BatchClosed) == []
    await until(desk, 90)
    (closed,) = desk.of(BatchClosed)
    assert (closed.detections, closed.reason) == (6, "window_timeout")


async def test_the_end_of_a_window_is_seen_between_two_checks():
    desk = Desk(Rules(limits=Limits(window=92.5)))
    await seen_at(desk, *range(0, 91, 10))
    await until(desk, 92.4)
    assert desk.of(BatchClosed) == []
    await until(desk, 92.5)
    assert [closed.reason for closed in desk.of(BatchClosed)] == ["window_timeout"]


async def test_two_batchers_check_at_the_same_moments():
    desk = Desk()
    await seen_at(desk, 1)
    other = desk.another()
    desk.clock.advance(28)  # T+29
    await other.closer.tick()
    await until(desk, 30)
    await other.closer.tick()
    desk.clock.advance(2)  # idle since T+31, and both have done the check of T+30
    await other.closer.tick()
    await until(desk, 34)
    assert desk.of(BatchClosed) == []
    desk.clock.advance(1)
    await other.closer.tick()
    assert len(desk.of(BatchClosed)) == 1


async def test_a_batch_that_closes_after_its_tenant_was_deleted_is_broadcast_to_nobody():
    desk = Desk(Rules(limits=Limits(most=1)))
    await desk.see(0)
    await desk.take_in()
    desk.db.tenants.clear()
    for _ in range(2):  # with the internal id that was known before, and without one
        await desk.batcher.closer.tick()
        await desk.batcher.herald.write()
        desk.clock.advance(READ_EVERY)
    assert len(desk.of(BatchClosed)) == 1
    assert desk.db.broadcasts == []


async def test_a_full_batch_closes_at_once_and_is_told_to_everybody():
    desk = Desk(Rules(limits=Limits(most=3)))
    desk.clock.advance(2)
    await desk.see(-2, -1, 0)
    await desk.take_in()
    await desk.batcher.closer.close_in_hand()
    await desk.batcher.relay.tick()
    (message,) = desk.told()
    (batch_id,) = desk.db.batches
    assert (message.message_id, message.routing_key) == (batch_id, f"analysis.{TENANT}.{CAMERA}")
    assert json.loads(message.body) == {
        "batch_id": batch_id[:14],
        "camera_id": CAMERA,
        "detection_ids": [1, 2, 3],
        "started_at": "2026-01-01T12:00:02Z",
        "closed_at": "2026-01-01T12:00:02Z",
        "close_reason": "max_size",
        "pipeline_start_time": "2026-01-01T12:00:00Z",
    }
    assert desk.db.batches[batch_id].is_told
    await desk.batcher.herald.write()
    assert [each.kind for each in desk.db.broadcasts].count("detection.batch") == 1


async def test_a_tenant_with_nothing_due_is_asked_about_every_few_seconds_only():
    desk = Desk()
    index = Counting(desk.index._thing)
    desk.index._thing = index
    for second in range(20):
        await until(desk, second)
    assert index.asked == 4
    await seen_at(desk, 20)
    await until(desk, 55)
    assert len(desk.of(BatchClosed)) == 1


@pytest.mark.parametrize(("part", "call"), [("batches", "close_batch"), ("index", "forget")])
async def test_what_could_not_be_closed_stays_in_hand_until_it_is(part, call):
    desk = Desk(Rules(limits=Limits(most=1)))
    await desk.see(0)
    await desk.take_in()
    getattr(desk, part).failing = {call}
    with pytest.raises((StoreUnavailable, IndexAway)):
        await desk.batcher.closer.tick()
    assert len(desk.batcher.in_hand) == 1
    getattr(desk, part).failing = set()
    await desk.batcher.closer.tick()
    assert len(desk.batcher.in_hand) == 0
    assert len(desk.db.batches) == 1


async def test_what_joined_a_batch_that_was_closed_already_gets_another_one():
    desk = Desk()
    await desk.see(0)
    await desk.take_in()
    before = desk.index._thing._shelves
    (sealed,) = await desk.index.seal_due(TENANT, now=START + timedelta(seconds=31), limit=9, is_check=True)
    await desk.insight.batches.close_batch(sealed)  # then the index comes back with it, as if it were open
    assert before[TENANT].closing
    desk.index._thing._shelves = {}
    desk.index._thing._names = lambda: sealed.batch_id
    await desk.see(1)
    await desk.take_in()
    desk.index._thing._names = lambda: BatchId("batch-" + "b" * 32)
    await until(desk, 31)
    await until(desk, 62)
    assert {each.batch.detection_ids for each in desk.db.batches.values()} == {(1,), (2,)}


async def test_what_an_index_in_memory_lost_with_its_batcher_is_added_when_the_next_begins():
    desk = Desk()
    await desk.see(0, 1)
    await desk.take_in()
    desk.clock.advance(60)
    desk.index._thing = MemoryOpenBatches()
    desk.batcher = desk.another()
    assert await desk.batcher.bodies["sweeper"].tick() == FRESH.total_seconds()
    await until(desk, 61)
    await until(desk, 93)
    assert [each.batch.detection_ids for each in desk.db.batches.values()] == [(1, 2)]
    assert desk.of(DetectionsAddedAgain) == []


async def test_what_is_being_added_by_others_is_left_alone_until_they_had_time():
    desk = Desk()
    sweeper = desk.batcher.bodies["sweeper"]
    desk.index.failing = {"add_all"}
    await desk.see(0)
    with pytest.raises(IndexAway):
        await desk.take_in()
    desk.index.failing = set()
    desk.clock.advance(0.1)
    assert await sweeper.tick() == FRESH.total_seconds()
    assert await desk.index.next_window_end(TENANT) is None
    desk.clock.advance(FRESH.total_seconds() + 1)
    assert await sweeper.tick() == SWEEP_EVERY
    assert await desk.index.next_window_end(TENANT) is not None


async def test_what_the_index_lost_in_silence_is_found_after_the_longest_batch():
    desk = Desk()
    sweeper = desk.batcher.bodies["sweeper"]
    await sweeper.tick()
    await desk.see(1)
    await desk.take_in()
    desk.clock.advance(10)
    await sweeper.tick()
    desk.index._thing._shelves = {}
    desk.clock.advance(110 + MARGIN.total_seconds())
    await sweeper.tick()
    assert desk.of(DetectionsAddedAgain) == []
    desk.clock.advance(1)
    await sweeper.tick()
    assert desk.of(DetectionsAddedAgain) == [DetectionsAddedAgain(count=1)]


async def a_closed_batch(desk: Desk) -> None:
    await desk.see(0)
    await desk.take_in()
    await desk.batcher.closer.close_in_hand()


async def test_batches_wait_in_the_outbox_while_four_fifths_of_the_queue_are_taken():
    desk = Desk(Rules(limits=Limits(most=1)))
    await a_closed_batch(desk)
    await desk.bus.declare(ANALYSIS)
    for number in range(HELD_AT):
        await desk.bus.publish(a_message(number, exchange=EXCHANGE, key="analysis.x"))
    assert await desk.batcher.relay.tick() == HELD_FOR
    assert await desk.batcher.relay.tick() == HELD_FOR
    assert desk.of(AnalysisHeld) == [AnalysisHeld(waiting=HELD_AT)]
    assert desk.batcher.relay.is_held
    desk.queues.by_name[ANALYSIS.name].ready.clear()
    assert await desk.batcher.relay.tick() == LOOK_EVERY
    assert len(desk.told()) == 1


async def test_a_batch_is_told_by_who_closed_it_and_by_others_only_after_a_while():
    desk = Desk(Rules(limits=Limits(most=1)))
    await a_closed_batch(desk)
    other = desk.another()
    await other.relay.tick()
    assert desk.told() == []
    desk.clock.advance(OTHERS_AFTER.total_seconds())
    await other.relay.tick()
    await desk.batcher.relay.tick()
    assert len(desk.told()) == 1


class Choosy:
    """A bus that does not take what is published, for now."""

    def __init__(self, bus: MemoryBus) -> None:
        self._bus = bus
        self.refuses = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    async def publish(self, message: Message) -> Published | Refused:
        return Refused("not confirmed") if self.refuses else await self._bus.publish(message)


async def test_a_batch_that_the_queue_refuses_stays_in_the_outbox():
    desk = Desk(Rules(limits=Limits(most=1)))
    await a_closed_batch(desk)
    desk.clock.advance(OTHERS_AFTER.total_seconds())
    bus: Any = Choosy(desk.bus)
    relay = Relay(desk.parts(), bus)
    with pytest.raises(BatchRefused, match="not confirmed"):
        await relay.tick()
    bus.refuses = False
    await relay.tick()
    assert len(desk.told()) == 1


async def test_a_batch_is_not_lost_if_the_exchange_of_the_queue_was_deleted():
    desk = Desk(Rules(limits=Limits(most=1)))
    await a_closed_batch(desk)
    await desk.batcher.relay.tick()
    await a_closed_batch(desk)
    desk.queues.by_name[ANALYSIS.name].bindings.clear()
    with pytest.raises(BatchRefused, match="no queue wants it"):
        await desk.batcher.relay.tick()
    await desk.batcher.relay.tick()
    assert len(desk.told()) == 2


async def test_two_batches_with_one_short_id_are_both_told():
    desk = Desk(Rules(limits=Limits(most=1)))
    names = iter([f"batch-{'a' * 8}{place:024x}" for place in range(9)])
    desk.index._thing._names = lambda: BatchId(next(names))
    await desk.see(0, 1)
    await desk.take_in()
    await desk.batcher.closer.close_in_hand()
    await desk.batcher.relay.tick()
    assert len({each.message_id for each in desk.told()}) == 2
    assert {json.loads(each.body)["batch_id"] for each in desk.told()} == {"batch-aaaaaaaa"}


def a_broadcast(number: int) -> DetectionNew:
    return DetectionNew(detection_id=number, batch_id="batch-1", camera_id=CAMERA, timestamp=START)


async def test_broadcasts_that_cannot_be_written_wait_and_what_does_not_fit_is_left_out_and_told():
    desk = Desk()
    broadcasts: Any = Failing(desk.insight.broadcasts, StoreUnavailable("simulated"))
    herald = Herald(broadcasts, journal=desk.journal)
    broadcasts.failing = {"append"}
    for number in range(MOST_WAITING + 3):
        herald.tell(TENANT, "detection.new", a_broadcast(number), tenant_key=f"~{TENANT}")
    with pytest.raises(StoreUnavailable):
        await herald.tick()
    broadcasts.failing = set()
    await herald.tick()
    assert len(desk.db.broadcasts) == MOST_WAITING
    assert desk.of(BroadcastsDropped) == [BroadcastsDropped(count=3)]


async def test_what_happened_at_zones_is_forgotten_with_its_tenant_s_batches():
    desk = Desk(Rules(detections_kept=60.0))
    await desk.see(0, detections=[], zone_events=[a_crossing()])
    await desk.take_in()
    pruner = desk.batcher.bodies["pruner"]
    desk.clock.advance(60)
    assert await pruner.tick() == PRUNE_EVERY
    assert len(desk.db.zone_events) == 1
    desk.clock.advance(1)
    await pruner.tick()
    assert desk.db.zone_events == {}


class SizedRecords(MemoryRecords):
    """Records whose size is a thousand bytes for each detection, as those of an embedded database."""

    def __init__(self, database: MemoryDatabase) -> None:
        super().__init__(database)
        self._database = database

    async def size(self) -> int | None:
        return 1000 * len(self._database.detections)


async def close_batches(desk: Desk, count: int) -> None:
    """So many batches of one detection each, a second apart."""
    for _ in range(count):
        await desk.see(0)
        await desk.take_in()
        await desk.batcher.closer.close_in_hand()
        desk.clock.advance(1)


async def test_an_embedded_database_above_its_size_loses_what_is_oldest_before_its_days_are_over():
    desk = Desk(Rules(limits=Limits(most=1)))
    desk.insight.records = SizedRecords(desk.db)
    await close_batches(desk, 2 * SOME_OVER_SIZE + 50)
    await desk.see(0, detections=[], zone_events=[a_crossing()])
    await desk.take_in()
    numbers = sorted(desk.db.detections)
    pruner = Pruner(desk.parts(), max_bytes=160_000)
    rests = []
    for _ in range(3):
        desk.clock.advance(0.001)
        rests.append(await pruner.tick())
    assert rests == [1.0, PRUNE_EVERY, PRUNE_EVERY], "100 of 250 were too many"
    assert abs(len(desk.db.detections) - 150) <= 1
    assert sorted(desk.db.detections) == numbers[-len(desk.db.detections) :], "the newest are left"
    assert len(desk.db.zone_events) == 1, "it is younger than what was removed"
    [told] = desk.of(RetentionShortened)
    assert (told.used_bytes, told.max_bytes) == (250_000, 160_000)


async def test_a_shortened_retention_is_recorded_once_an_hour():
    desk = Desk(Rules(limits=Limits(most=1)))
    desk.insight.records = SizedRecords(desk.db)
    pruner = Pruner(desk.parts(), max_bytes=0)
    recorded = []
    for rest in (1.0, 1.0, 3600.0):
        await close_batches(desk, 2)
        desk.clock.advance(rest)
        await pruner.tick()
        recorded.append(len(desk.of(RetentionShortened)))
    assert recorded == [1, 1, 2]
