"""A connection to RabbitMQ that is made again when it is lost, and what is said of it meanwhile.

A plain connection, not aio-pika's robust one: that one lets a publisher hang while it reconnects by itself. The
connection has one channel, furnished by whoever uses it: with exchanges to publish to, or with a subscription.
"""

import asyncio
import contextlib
import os
import random
import socket
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar
from urllib.parse import parse_qs, urlsplit

import aio_pika
from aio_pika.abc import AbstractChannel, AbstractConnection
from aio_pika.connection import make_url
from aiormq.exceptions import (
    AMQPError,
    ChannelClosed,
    ConnectionClosed,
    InvalidFrameError,
    ProbableAuthenticationError,
)

from streamward.model.bus import BusAway
from streamward.model.secret import Secret
from streamward.runtime.backoff import Backoff, BackoffSpec
from streamward.runtime.clock import Clock

HEARTBEAT = 10  # seconds: a peer that vanished is noticed while nothing is sent
# What the library raises when a connection is lost; a runtime error says that it was lost before.
GONE = (AMQPError, OSError, RuntimeError, TimeoutError)

_BACKOFF = BackoffSpec(first=0.25, longest=15.0, steady=30.0)
_PORTS = {"amqp": 5672, "amqps": 5671}
# And what it makes of peers that hang up at once, or are no brokers.
_NO_BROKER = (*GONE, LookupError, StopAsyncIteration, ValueError)

F = TypeVar("F")


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a broker has for its answers."""

    connect: float = 5.0  # name, TCP, TLS and login together
    confirm: float = 10.0  # from a publish to the broker's word
    close: float = 2.0


PATIENCE = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """Where a broker is, and how long we wait for it."""

    url: Secret
    clock: Clock
    patience: Patience = PATIENCE

    @property
    def shown(self) -> str:
        """Host and port."""
        parts = urlsplit(self.url.reveal())
        return f"{parts.hostname}:{parts.port or _PORTS[parts.scheme]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Generic[F]):
    """One connection with one channel."""

    connection: AbstractConnection
    channel: AbstractChannel
    furniture: F
    since: float  # boot-time

    @property
    def is_closed(self) -> bool:
        return self.connection.is_closed or self.channel.is_closed

    async def close(self, *, within: float) -> None:
        with contextlib.suppress(*GONE):
            async with asyncio.timeout(within):
                await self.connection.close()


class Line(Generic[F]):
    """The way to a broker; connects when it is wanted."""

    def __init__(self, broker: Broker, furnish: Callable[[AbstractChannel], Awaitable[F]]) -> None:
        self.patience = broker.patience
        self._broker = broker
        self._furnish = furnish
        self._clock = broker.clock
        self._backoff = Backoff(_BACKOFF, random.SystemRandom())
        self._connecting = asyncio.Lock()
        self._link: Link[F] | None = None
        self._dial_at = 0.0  # boot-time before which nobody dials
        self._why_lost = ""

    async def linked(self) -> Link[F]:
        """The connection, made if there is none; raises BusAway, and whatever furnishing raises."""
        async with self._connecting:
            if self._link is None or self._link.is_closed:
                self._link = await self._connect()
            return self._link

    async def lost(self, link: Link[F], err: BaseException) -> BusAway:
        """The first of all who used a connection says when to dial again."""
        if self._link is not link:
            wait = max(0.0, self._dial_at - self._clock.boot())
            return BusAway(self._broker.shown, why(err), retry_in=wait)
        away = self._away(err, after=self._clock.boot() - link.since)
        await self.let_go(link)
        return away

    async def let_go(self, link: Link[F]) -> None:
        """Ends this connection, if it is still the one in use."""
        if self._link is link:
            self._link = None
            await link.close(within=self.patience.close)

    async def close(self) -> None:
        """Ends the connection; whoever wants one later makes a new one."""
        async with self._connecting:
            link, self._link = self._link, None
            if link is not None:
                await link.close(within=self.patience.close)

    async def _connect(self) -> Link[F]:
        wait = self._dial_at - self._clock.boot()
        if wait > 0:
            raise BusAway(self._broker.shown, self._why_lost, retry_in=wait)
        try:
            async with asyncio.timeout(self.patience.connect):
                return await self._open(since=self._clock.boot())
        except _NO_BROKER as err:  # what the library says may name the URL
            raise self._away(err, after=0.0) from None

    async def _open(self, *, since: float) -> Link[F]:
        url = urlsplit(self._broker.url.reveal())._replace(query=f"heartbeat={HEARTBEAT}&name=streamward").geturl()
        connection = aio_pika.Connection(make_url(url), ssl_context=_tls(self._broker.url))
        try:
            await connection.connect()
            channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
            furniture = await self._furnish(channel)
            return Link(connection=connection, channel=channel, furniture=furniture, since=since)
        except BaseException:
            await connection.close()
            raise

    def _away(self, err: BaseException, *, after: float) -> BusAway:
        wait = self._backoff.failed(after=after)
        self._dial_at = self._clock.boot() + wait
        self._why_lost = why(err)
        return BusAway(self._broker.shown, self._why_lost, retry_in=wait)


def _tls(url: Secret) -> ssl.SSLContext | None:
    parts = urlsplit(url.reveal())
    if parts.scheme != "amqps":
        return None
    (authorities,) = parse_qs(parts.query).get("cafile", [None])
    return ssl.create_default_context(cafile=authorities)


def why(err: BaseException) -> str:
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
