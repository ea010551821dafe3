"""The account of a Worker's events: each arrived, or is counted in a gap that was told."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from streamward.model.bus import Bus, Delivery
from streamward.model.message import Message
from streamward.protocol import codec
from streamward.protocol.events import BATCHER, DetectionEvent, DetectionsLost
from streamward.runtime.spool import Gap, abandoned

PATIENCE = 60.0  # seconds


@dataclass
class Ledger:
    """What the queue of detections held of one runner, in its order."""

    runner_id: str
    events: list[DetectionEvent] = field(default_factory=list)  # repeats and all
    gaps: dict[str, DetectionsLost] = field(default_factory=dict)  # by message id

    def book(self, delivery: Delivery) -> None:
        """One more message."""
        body = delivery.message.body
        if delivery.message.kind == "detections.gap":
            gap = codec.decode(body, DetectionsLost)
            if gap.runner_id == self.runner_id:
                self.gaps[delivery.message.message_id] = gap
        else:
            event = codec.decode(body, DetectionEvent)
            if event.runner_id == self.runner_id:
                self.events.append(event)

    @property
    def lost(self) -> int:
        """What the gaps tell, each once."""
        return sum(gap.count for gap in self.gaps.values())

    @property
    def unique(self) -> dict[str, DetectionEvent]:
        """The events without repeats."""
        return {event.event_id: event for event in self.events}

    def seqs(self, incarnation: str) -> set[int]:
        """The numbers of one Worker's events that arrived."""
        return {event.seq for event in self.events if event.incarnation == incarnation}

    @property
    def incarnations(self) -> list[str]:
        """The Workers that are heard of, in the order of their first event."""
        return list(dict.fromkeys(event.incarnation for event in self.events))

    def told_lost(self) -> Iterator[int]:
        """The numbers that the gaps name; the spool of a Worker counts its events as the Worker does."""
        for gap in self.gaps.values():
            yield from range(gap.first, gap.first + gap.count)

    def missing(self, count: int) -> set[int]:
        """Which of the first events of the only Worker neither arrived nor were told to be lost."""
        arrived = {event.seq for event in self.events}
        return set(range(1, count + 1)) - arrived - set(self.told_lost())

    def assert_no_two_of_a_name(self) -> None:
        """What has the same name is the same, and of one Worker every number has one name."""
        unique = self.unique
        assert all(event == unique[event.event_id] for event in self.events)
        numbers = [(event.incarnation, event.seq) for event in unique.values()]
        assert len(numbers) == len(set(numbers))


async def read_ledger(bus: Bus, ledger: Ledger, *, until: Callable[[Ledger], bool]) -> Ledger:
    """Takes what waits for a batcher until something is so, or never comes to be, and whatever else is there."""
    consumer = bus.consume(BATCHER.name, prefetch=1000)
    give_up_at = asyncio.get_running_loop().time() + PATIENCE
    while True:
        some = await consumer.take(at_most=1000, within=1.0)
        for delivery in some:
            ledger.book(delivery)
        await consumer.ack(some)
        if not some and (until(ledger) or asyncio.get_running_loop().time() > give_up_at):
            break
    await consumer.close()
    return ledger


def left_behind(root: Path, aside: Path) -> set[str]:
    """The ids of the events that wait in the spools below a folder, read from a copy."""
    shutil.copytree(root, aside)
    spools = abandoned(aside, most_bytes=1 << 30)
    found = [waiting.entry for spool in spools for waiting in spool.backlog(1_000_000)]
    for spool in spools:
        spool.close()
    shutil.rmtree(aside)
    messages = [msgspec.msgpack.decode(entry.payload, type=Message) for entry in found if not isinstance(entry, Gap)]
    return {message.message_id for message in messages}
