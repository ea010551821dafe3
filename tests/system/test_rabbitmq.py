"""Announcements on a real RabbitMQ: what consumers get, and what becomes of them when the broker dies or says no."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

import aio_pika
import pytest
from aio_pika.abc import AbstractIncomingMessage, AbstractQueue

from streamward.control.relay import AnnouncementPublished, AnnouncingFailed, Relay
from streamward.drivers.amqp import PATIENCE, AmqpBus, Broker, Patience
from streamward.model.announcement import EXCHANGE
from streamward.model.bus import Binding, BusAway, Published, Queue, Refused
from streamward.model.secret import Secret
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Service
from tests.support.announcements import MemoryOutbox, an_announcement
from tests.support.clocks import START
from tests.support.rabbitmq import PASSWORD, RabbitServer

BRIEF = Patience(connect=2.0, confirm=2.0, close=1.0)


@contextlib.asynccontextmanager
async def publishing(
    url: str, patience: Patience = PATIENCE, *, needed: Sequence[Queue] = ()
) -> AsyncIterator[AmqpBus]:
    publisher = AmqpBus(Broker(url=Secret(url), clock=SystemClock(), patience=patience), needed=needed)
    before = asyncio.all_tasks()
    try:
        yield publisher
    finally:
        await publisher.close()
        if left := asyncio.all_tasks() - before:
            await asyncio.wait(left, timeout=60)  # the library's own end a few turns after it said so


@contextlib.asynccontextmanager
async def bound(url: str, key: str, **arguments: Any) -> AsyncIterator[AbstractQueue]:
    """A durable queue that gets what is announced under these keys."""
    async with await aio_pika.connect(url) as connection:
        channel = await connection.channel()
        exchange = await channel.declare_exchange(EXCHANGE, "topic", durable=True)
        queue = await channel.declare_queue(
            key.translate({ord("*"): "any", ord("#"): "all"}), durable=True, arguments=arguments
        )
        await queue.bind(exchange, key)
        yield queue


async def taken(queue: AbstractQueue, *, until: Callable[[set[str | None]], bool]) -> list[AbstractIncomingMessage]:
    """What a consumer gets, in order, until it has seen what it wants."""
    got: list[AbstractIncomingMessage] = []
    seen: set[str | None] = set()
    async with _told_of(seen), asyncio.timeout(60), queue.iterator() as messages:
        async for message in messages:
            await message.ack()
            got.append(message)
            seen.add(message.message_id)
            if until(seen):
                break
    return got


@contextlib.asynccontextmanager
async def _told_of(seen: set[str | None]) -> AsyncIterator[None]:
    """Says what had come, if the rest does not come in time."""
    try:
        yield
    except TimeoutError as err:
        err.add_note(f"{len(seen)} came: {sorted(map(str, seen))}")
        raise


async def refusal(url: str, patience: Patience = PATIENCE) -> str:
    async with publishing(url, patience) as publisher:
        with pytest.raises(BusAway) as away:
            await publisher.publish(an_announcement(1).message)
    assert PASSWORD not in f"{away.value!r} {away.value}"
    assert away.value.__cause__ is None
    return away.value.why


async def test_a_bound_consumer_gets_what_was_announced(rabbitmq: RabbitServer) -> None:
    announcement = an_announcement(7, camera="cam-form", verb="created")
    async with publishing(rabbitmq.url()) as publisher, bound(rabbitmq.url(), "camera.*.t-01.*.cam-form") as queue:
        assert await publisher.publish(announcement.message) == Published()
        (message,) = await taken(queue, until=bool)
    assert (message.exchange, message.routing_key) == ("control.topic", "camera.created.t-01.site-a.cam-form")
    assert json.loads(message.body) == {"type": "camera.created", "camera_uuid": "cam-form"}
    assert (message.message_id, message.type, message.timestamp) == ("event-7", "camera.created", START)
    assert (message.content_type, message.delivery_mode) == ("application/json", aio_pika.DeliveryMode.PERSISTENT)
    assert message.headers == {
        "cloudEvents_specversion": "1.0",
        "cloudEvents_id": "event-7",
        "cloudEvents_source": "/control",
        "cloudEvents_type": "camera.created",
        "cloudEvents_subject": "t-01/site-a/cam-form",
        "cloudEvents_time": "2026-01-01T12:00:00Z",
    }


async def test_without_any_queue_an_announcement_is_published(rabbitmq: RabbitServer) -> None:
    async with publishing(rabbitmq.url()) as publisher:
        assert await publisher.publish(an_announcement(1, camera="cam-unheard").message) == Published()


@pytest.mark.parametrize("end", [RabbitServer.kill, RabbitServer.stop])
async def test_nothing_is_lost_when_the_broker_goes_and_comes_back(
    mortal_rabbitmq: RabbitServer, end: Callable[[RabbitServer], None]
) -> None:
    outbox, journal = MemoryOutbox([an_announcement(n, camera=f"cam-{n % 40}") for n in range(2000)]), Journal()
    async with bound(mortal_rabbitmq.url(), "camera.#"):
        pass
    async with publishing(mortal_rabbitmq.url()) as publisher:
        relay = Relay(outbox, publisher, journal=journal, clock=SystemClock())
        async with Service("relay", relay, journal=journal):
            await journal.first(AnnouncementPublished)
            end(mortal_rabbitmq)
            told = await journal.first(AnnouncingFailed)
            assert PASSWORD not in str(told.error)
            assert outbox.waiting
            mortal_rabbitmq.start()
            async with bound(mortal_rabbitmq.url(), "camera.#") as queue:
                messages = await taken(queue, until=lambda seen: len(seen) == 2000)
    first_seen = list(dict.fromkeys(str(message.message_id) for message in messages))
    assert sorted(first_seen) == sorted(f"event-{n}" for n in range(2000))
    for camera in range(40):
        ours = [each for each in map(_number, first_seen) if each % 40 == camera]
        assert ours == sorted(ours)


async def test_a_wrong_password_is_one_sentence_without_it(rabbitmq: RabbitServer) -> None:
    assert await refusal(rabbitmq.url(password="hunter2")) == "it refuses the user or the password"


async def test_an_unknown_virtual_host_is_one_sentence(rabbitmq: RabbitServer) -> None:
    assert await refusal(f"{rabbitmq.url()}nowhere") == "it refuses the virtual host, or is no RabbitMQ"


async def test_a_broker_that_nobody_serves_is_one_sentence() -> None:
    assert await refusal("amqp://u:hunter2@127.0.0.1:1/") == "connection refused"


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"AMQP\x00\x00\x09\x01"])
async def test_what_is_no_broker_is_one_sentence(said: bytes) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        assert await refusal(f"amqp://u:hunter2@127.0.0.1:{server.sockets[0].getsockname()[1]}/", BRIEF)


async def test_a_mute_server_is_given_up_in_time() -> None:
    async def stay_mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(stay_mute, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with asyncio.timeout(60):
            assert await refusal(f"amqp://u:hunter2@127.0.0.1:{port}/", BRIEF) == "no answer in time"


async def test_a_frozen_broker_is_given_up_in_time_and_found_again(rabbitmq: RabbitServer) -> None:
    async with publishing(rabbitmq.url(), BRIEF) as publisher:
        assert await _published_at_last(publisher)
        rabbitmq.freeze()
        try:
            with pytest.raises(BusAway, match="no answer in time"):
                await publisher.publish(an_announcement(2).message)
        finally:
            rabbitmq.thaw()
        assert await _published_at_last(publisher)


async def test_a_message_that_a_full_queue_refuses_is_an_answer(rabbitmq: RabbitServer) -> None:
    limits = {"x-max-length": 1, "x-overflow": "reject-publish"}
    async with publishing(rabbitmq.url()) as publisher, bound(rabbitmq.url(), "camera.*.*.*.cam-full", **limits):
        assert await publisher.publish(an_announcement(1, camera="cam-full").message) == Published()
        assert await publisher.publish(an_announcement(2, camera="cam-full").message) == Refused("not confirmed")
        assert await publisher.publish(an_announcement(3, camera="cam-other").message) == Published()


async def test_what_no_message_can_be_made_of_is_refused(rabbitmq: RabbitServer) -> None:
    async with publishing(rabbitmq.url()) as publisher:
        assert isinstance(await publisher.publish(an_announcement(1, camera="c" * 300).message), Refused)
        assert await publisher.publish(an_announcement(2).message) == Published()


async def test_an_exchange_in_another_form_holds_up_nobody_else(rabbitmq: RabbitServer) -> None:
    async with await aio_pika.connect(rabbitmq.url()) as connection, connection.channel() as channel:
        await channel.declare_exchange("test.direct", "direct", durable=True)
    odd = replace(an_announcement(0, camera="cam-odd"), exchange="test.direct")
    outbox, journal = MemoryOutbox([odd, *(an_announcement(n, camera=f"cam-{n}") for n in range(1, 100))]), Journal()
    async with publishing(rabbitmq.url()) as publisher:
        relay = Relay(outbox, publisher, journal=journal, clock=SystemClock())
        async with Service("relay", relay, journal=journal):
            told = await journal.first(AnnouncingFailed)
            await asyncio.wait_for(outbox.only(0), 60)
    assert "inequivalent arg 'type' for exchange 'test.direct'" in str(told.error)


async def test_tls_is_spoken_with_a_broker_that_is_trusted_and_no_other(rabbitmq: RabbitServer) -> None:
    async with publishing(rabbitmq.tls_url(authority=rabbitmq.authority)) as publisher:
        assert await publisher.publish(an_announcement(1).message) == Published()
    assert (
        await refusal(rabbitmq.tls_url()) == "its certificate is not trusted (unable to get local issuer certificate)"
    )


async def _published_at_last(publisher: AmqpBus) -> bool:
    async with asyncio.timeout(60):
        while True:
            with contextlib.suppress(BusAway):
                return await publisher.publish(an_announcement(3).message) == Published()
            await asyncio.sleep(0)


def _number(message_id: str) -> int:
    return int(message_id.removeprefix("event-"))


@pytest.mark.parametrize("what", ["exchange", "queue"])
async def test_what_is_deleted_at_the_broker_is_declared_again_with_the_next_message(
    rabbitmq: RabbitServer, what: str
) -> None:
    needed = Queue(name=f"needed.{what}", bindings=(Binding(f"{what}.topic", "detections.#"),))
    message = replace(
        an_announcement(1).message, exchange=f"{what}.topic", routing_key="detections.a.b.c", is_mandatory=True
    )
    async with publishing(rabbitmq.url(), needed=[needed]) as publisher:
        assert await publisher.publish(message) == Refused("no queue wants it")  # it was never there
        await publisher.declare(needed)
        assert await publisher.publish(message) == Published()
        async with await aio_pika.connect(rabbitmq.url()) as connection:
            channel = await connection.channel()
            if what == "exchange":
                await channel.exchange_delete(f"{what}.topic")
            else:
                await channel.queue_delete(needed.name)
        began = asyncio.get_running_loop().time()
        async with asyncio.timeout(30):
            while await publisher.publish(message) != Published():
                pass  # the first is refused, and its channel closed
        assert asyncio.get_running_loop().time() - began < 10
        assert await publisher.waiting(needed.name) >= 1
