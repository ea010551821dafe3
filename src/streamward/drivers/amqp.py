"""RabbitMQ: publishes with confirms over one connection that we make again when it is lost.

Guaranteed: an answer within the seconds of `Patience`, whatever the broker and the network do; no
user and no password in any error. Not guaranteed: that a message without an answer did not arrive. Who sends it again
sends the same `message_id`, by which consumers know it.

A plain connection, not aio-pika's robust one: that one lets a publisher hang while it reconnects by itself.
"""

import asyncio
import contextlib
import os
import random
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import aio_pika
from aio_pika.abc import AbstractConnection, AbstractExchange
from aiormq.exceptions import (
    AMQPError,
    ChannelClosed,
    ConnectionClosed,
    DeliveryError,
    InvalidFrameError,
    ProbableAuthenticationError,
)

from streamward.model.announcement import Announcement
from streamward.model.broker import BrokerAway, Published, Refused, Topic
from streamward.model.secret import Secret
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import Clock

HEARTBEAT = 10  # seconds: a peer that vanished is noticed while nothing is sent

_BACKOFF = BackoffSpec(first=0.25, longest=15.0, steady=30.0)
_PORTS = {"amqp": 5672, "amqps": 5671}
# What the library raises when a connection is lost; a runtime error says that it was lost before.
_GONE = (AMQPError, OSError, RuntimeError, TimeoutError)
# And what it makes of peers that hang up at once, or are no brokers.
_NO_BROKER = (*_GONE, LookupError, StopAsyncIteration, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a broker has for its answers."""

    connect: float = 5.0  # name, TCP, TLS and login together
    confirm: float = 10.0  # from a publish to the broker's word
    close: float = 2.0


PATIENCE = Patience()


class AmqpPublisher:
    """One process's way to a broker; connects when there is something to publish."""

    def __init__(self, url: Secret, *, source: str, clock: Clock, patience: Patience = PATIENCE) -> None:
        self._url = url
        self._source = source
        self._clock = clock
        self._patience = patience
        self._broker = _shown(url)
        self._backoff = Backoff(_BACKOFF, random.SystemRandom())
        self._connecting = asyncio.Lock()
        self._link: _Link | None = None
        self._dial_at = 0.0  # boot-time before which nobody dials
        self._why_lost = ""

    async def publish(self, announcement: Announcement) -> Published | Refused:
        """Sends one message and waits for the broker's word; raises BrokerAway."""
        link = await self._linked()
        try:
            async with asyncio.timeout(self._patience.confirm):
                exchange = await link.exchange(announcement.exchange)
                # No queue may be bound, and that is nobody's fault: not mandatory.
                await exchange.publish(self._message(announcement), announcement.routing_key, mandatory=False)
        except DeliveryError:
            return Refused("not confirmed")
        except ValueError:
            return Refused("no AMQP message can be made of it")
        except ChannelClosed as err:  # the broker's way to refuse for good; whatever else was under way goes with it
            await self._let_go(link)
            return Refused(_why(err))
        except _GONE as err:
            raise await self._lost(link, err) from None  # what the library says may name the URL
        return Published()

    async def reach(self) -> None:
        """Connects, if that has not happened yet; raises BrokerAway."""
        await self._linked()

    async def close(self) -> None:
        """Ends the connection; a later publish makes a new one."""
        async with self._connecting:
            link, self._link = self._link, None
            if link is not None:
                await link.close(within=self._patience.close)

    async def _linked(self) -> "_Link":
        async with self._connecting:
            if self._link is None or self._link.is_closed:
                self._link = await self._connect()
            return self._link

    async def _connect(self) -> "_Link":
        wait = self._dial_at - self._clock.boot()
        if wait > 0:
            raise BrokerAway(self._broker, self._why_lost, retry_in=wait)
        try:
            async with asyncio.timeout(self._patience.connect):
                return await _Link.open(self._url, since=self._clock.boot())
        except _NO_BROKER as err:
            raise self._away(err, after=0.0) from None

    async def _lost(self, link: "_Link", err: BaseException) -> BrokerAway:
        """The first of all who used a connection says when to dial again."""
        if self._link is not link:
            wait = max(0.0, self._dial_at - self._clock.boot())
            return BrokerAway(self._broker, _why(err), retry_in=wait)
        away = self._away(err, after=self._clock.boot() - link.since)
        await self._let_go(link)
        return away

    async def _let_go(self, link: "_Link") -> None:
        if self._link is link:
            self._link = None
            await link.close(within=self._patience.close)

    def _away(self, err: BaseException, *, after: float) -> BrokerAway:
        wait = self._backoff.failed(after=after)
        self._dial_at = self._clock.boot() + wait
        self._why_lost = _why(err)
        return BrokerAway(self._broker, self._why_lost, retry_in=wait)

    def _message(self, announcement: Announcement) -> aio_pika.Message:
        attributes = self._attributes(announcement)
        return aio_pika.Message(
            announcement.body.encode(),
            message_id=announcement.event_id,
            type=attributes["type"],
            timestamp=announcement.at,
            content_type="application/json",
            delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
            headers={f"cloudEvents_{name}": value for name, value in attributes.items()},
        )

    def _attributes(self, announcement: Announcement) -> Mapping[str, str]:
        """CloudEvents 1.0 in its AMQP form; `_` is the separator that every client's selectors can name."""
        topic = Topic.read(announcement.routing_key)
        return {
            "specversion": "1.0",
            "id": announcement.event_id,
            "source": self._source,
            "type": topic.kind,
            "subject": topic.subject,
            "time": announcement.at.isoformat().replace("+00:00", "Z"),
        }


class _Link:
    """One connection with one channel."""

    def __init__(self, connection: AbstractConnection, channel: aio_pika.abc.AbstractChannel, *, since: float) -> None:
        self.since = since
        self._connection = connection
        self._channel = channel
        self._declaring = asyncio.Lock()
        self._exchanges: dict[str, AbstractExchange] = {}

    @classmethod
    async def open(cls, url: Secret, *, since: float) -> "_Link":
        connection = await aio_pika.connect(
            urlsplit(url.reveal())._replace(query="").geturl(),
            ssl_context=_tls(url),
            client_properties={"connection_name": "streamward"},
            heartbeat=HEARTBEAT,
        )
        try:
            return cls(connection, await connection.channel(publisher_confirms=True), since=since)
        except BaseException:
            await connection.close()
            raise

    @property
    def is_closed(self) -> bool:
        return self._connection.is_closed or self._channel.is_closed

    async def exchange(self, name: str) -> AbstractExchange:
        """The durable topic exchange of that name, made if it is not there."""
        async with self._declaring:
            if name not in self._exchanges:
                self._exchanges[name] = await self._channel.declare_exchange(
                    name, aio_pika.ExchangeType.TOPIC, durable=True
                )
            return self._exchanges[name]

    async def close(self, *, within: float) -> None:
        with contextlib.suppress(*_GONE):
            async with asyncio.timeout(within):
                await self._connection.close()


def _tls(url: Secret) -> ssl.SSLContext | None:
    parts = urlsplit(url.reveal())
    if parts.scheme != "amqps":
        return None
    (authorities,) = parse_qs(parts.query).get("cafile", [None])
    return ssl.create_default_context(cafile=authorities)


def _shown(url: Secret) -> str:
    parts = urlsplit(url.reveal())
    return f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


def _why(err: BaseException) -> str:
    """A failure in words of ours or the broker's; the library's could hold the URL."""
    match err:
        case ProbableAuthenticationError():
            return "it refuses the user or the password"
        case InvalidFrameError():  # the library's name for a refusal that it does not know
            return "it refuses the virtual host, or is no RabbitMQ"
        case ChannelClosed() | ConnectionClosed():
            return f"it says {err.args[-1]}"
        case TimeoutError():
            return "no answer in time"
        case StopAsyncIteration():
            return "it hangs up"
        case _:
            return _why_lost(err.__cause__ if isinstance(err.__cause__, OSError) else err)


def _why_lost(err: BaseException) -> str:
    match err:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted ({err.verify_message})"
        case ssl.SSLError():
            return f"TLS fails ({err.reason})"
        case socket.gaierror():
            return "its name is not known"
        case OSError(errno=int(number)):
            return os.strerror(number).lower()
        case _:
            return f"the connection was lost ({type(err).__name__})"
