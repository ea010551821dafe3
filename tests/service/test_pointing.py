"""Events that are too large for the bus, from the outbox over a store to their reader; on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from streamward.client import PayloadUnusable, payload
from streamward.drivers.memory.objects import MemoryObjects
from streamward.model.bus import Published, Refused
from streamward.model.message import MOST_BYTES, Event, Message, of_event
from streamward.model.objects import MOST_STORED
from streamward.protocol import codec
from streamward.protocol.events import DetectionEvent, SeenThing
from streamward.protocol.pointers import DATAREF, DetectionPointer
from streamward.runner.pointing import PointingPublisher
from streamward.runtime.journal import Journal
from streamward.runtime.outbox import MessagesPublished, MessageUnfit, Outbox, PublishingFailed, SpoolRelay
from streamward.runtime.spool import Spool
from streamward.runtime.virtual_time import run
from tests.support.builders import an_event
from tests.support.clocks import LoopClock

THING = SeenThing(label="person", conf=0.5, bbox_xyxy=[1.0, 2.0, 3.0, 4.0])


class FakeBus:
    """Takes everything that a bus takes."""

    def __init__(self) -> None:
        self.taken: list[Message] = []

    async def publish(self, message: Message) -> Published | Refused:
        assert len(message.body) <= MOST_BYTES
        self.taken.append(message)
        return Published()

    async def close(self) -> None: ...


class Played:
    """An outbox at work on a fake bus and a store in memory."""

    def __init__(self, folder: Path) -> None:
        self.bus, self.store, self.journal = FakeBus(), MemoryObjects(), Journal()
        self.told: list[object] = []
        self.journal.subscribe(self.told.append)
        relay = SpoolRelay(
            Spool(folder, most_bytes=50 * 2**20),
            PointingPublisher(self.bus, self.store),
            tell_gap=lambda *_: pytest.fail("nothing gives way"),
            journal=self.journal,
            clock=LoopClock(),
            most_bytes=MOST_STORED,
        )
        self.outbox = Outbox(relay, journal=self.journal)

    async def until_published(self, count: int) -> list[Message]:
        while len(self.bus.taken) < count:
            await self.journal.first(MessagesPublished, within=1000)
        return self.bus.taken


def play(scene: Callable[[Played], Awaitable[None]], folder: Path) -> None:
    async def main() -> None:
        played = Played(folder)
        async with played.outbox:
            await scene(played)

    run(main())


def a_message(things: int, *, frame: int = 7) -> Message:
    event: DetectionEvent = msgspec.structs.replace(
        an_event(), detections=[THING] * things, frame_id=frame, event_id=f"cam-1.3.1.{frame}"
    )
    told = Event(event_id=event.event_id, source="/r1", at=event.ts, body=codec.encode(event))
    return of_event(told, exchange="detections.topic", routing_key="detections.t-01.site-1.cam-1")


SMALL, LARGE = a_message(3), a_message(5000)


def test_only_what_is_too_large_is_put_into_the_store(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        played.outbox.append(SMALL)
        assert await played.until_published(1) == [SMALL]
        assert played.store.kept == {}
        played.outbox.append(LARGE)
        await played.until_published(2)
        assert played.store.kept == {"t-01/cam-1/2026-11-16/cam-1.3.1.7": LARGE.body}

    play(scene, tmp_path / "spool")


def test_a_pointer_is_the_same_message_with_another_body_and_a_claim_check(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        played.outbox.append(LARGE)
        (told,) = await played.until_published(1)
        assert replace(told, body=LARGE.body, headers=LARGE.headers) == LARGE
        url = "memory:t-01/cam-1/2026-11-16/cam-1.3.1.7"
        assert told.headers == {**LARGE.headers, DATAREF: url}
        pointer = codec.decode(told.body, DetectionPointer)
        assert (pointer.event_id, pointer.object.bytes, pointer.object.url) == ("cam-1.3.1.7", len(LARGE.body), url)
        assert len(told.body) < 1000

    play(scene, tmp_path / "spool")


def test_while_the_store_is_away_others_pass_and_nothing_is_lost(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        played.store.is_away = True
        played.outbox.append(LARGE)
        for frame in range(100, 200):
            played.outbox.append(a_message(1, frame=frame))
        await played.until_published(100)
        await asyncio.sleep(300)
        assert [fact for fact in played.told if isinstance(fact, PublishingFailed)]
        played.store.is_away = False
        *others, last = await played.until_published(101)
        assert {each.message_id for each in others} == {f"cam-1.3.1.{frame}" for frame in range(100, 200)}
        assert await payload(last, played.store) == LARGE.body

    play(scene, tmp_path / "spool")


def test_what_no_store_takes_is_refused_at_once(tmp_path: Path) -> None:
    async def scene(played: Played) -> None:
        with pytest.raises(MessageUnfit, match=f"longer than {MOST_STORED} bytes"):
            played.outbox.append(a_message(20_000))

    play(scene, tmp_path / "spool")


async def pointing() -> tuple[Message, MemoryObjects]:
    """A pointer as it arrives, and the store."""
    bus, store = FakeBus(), MemoryObjects()
    await PointingPublisher(bus, store).publish(LARGE)
    return bus.taken[0], store


async def test_readers_get_the_body_of_either_kind() -> None:
    message, store = await pointing()
    assert await payload(message, store) == LARGE.body
    assert await payload(SMALL, store) == SMALL.body


async def test_what_is_gone_or_damaged_is_told() -> None:
    message, store = await pointing()
    store.kept = {key: content.replace(b"person", b"nobody") for key, content in store.kept.items()}
    with pytest.raises(PayloadUnusable, match=r"cam-1.3.1.7 points at cannot be used: it is not what was put there"):
        await payload(message, store)
    store.kept.clear()
    with pytest.raises(PayloadUnusable, match="it is gone"):
        await payload(message, store)
    with pytest.raises(PayloadUnusable, match="the pointer cannot be read"):
        await payload(replace(message, body=b"{}"), store)


@pytest.mark.parametrize("elsewhere", [b"t-02/cam-1/", b"t-01/cam-2/", b"../cam-1/"])
async def test_a_pointer_leads_to_no_other_tenant_or_camera(elsewhere: bytes) -> None:
    message, store = await pointing()
    forged = replace(message, body=message.body.replace(b"t-01/cam-1/", elsewhere))
    with pytest.raises(PayloadUnusable, match="not of the camera that the message is about"):
        await payload(forged, store)
