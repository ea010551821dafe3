"""The way to a Redis server: calls of scripts, many in one round trip, and what is said of it when it does not answer.

Guaranteed: an answer within the seconds of `Patience`; no user and no password in any error. Nothing is tried twice
here except calls of scripts that the server does not know yet: whoever asked may ask again.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import redis.exceptions
from redis.asyncio import BlockingConnectionPool, Connection, SSLConnection
from redis.asyncio.connection import AbstractConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    InvalidResponse,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from streamward.drivers.redis.scripts import EVERY, Call
from streamward.insight.store import IndexAway
from streamward.model.secret import Secret

_CONNECTIONS = 8  # of one process
_PORT = 6379
# What the library raises; a runtime error says that a connection was lost before.
_GONE = (RedisError, OSError, RuntimeError)

_NOT_LET_IN = "it refuses the user or the password"

Command = Sequence[str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How many seconds a server has for its answers."""

    connect: float = 5.0  # name, TCP, TLS and login together
    answer: float = 5.0  # to one round trip, connecting included


PATIENCE = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisServer:
    """Where a server is: `redis://user:password@host:port/database`, or `rediss://…?cafile=path`."""

    url: Secret
    patience: Patience = PATIENCE

    @property
    def shown(self) -> str:
        """Host and port."""
        parts = urlsplit(self.url.reveal())
        return f"{parts.hostname}:{parts.port or _PORT}"

    def pool(self) -> BlockingConnectionPool:
        """Connections that are made when they are wanted, and never retry by themselves."""
        parts = urlsplit(self.url.reveal())
        is_tls = parts.scheme == "rediss"
        settings: dict[str, Any] = {
            "host": parts.hostname,
            "port": parts.port or _PORT,
            "username": unquote(parts.username or "") or None,
            "password": unquote(parts.password or "") or None,
            "db": int(parts.path.strip("/") or 0),
            "socket_connect_timeout": self.patience.connect,
            "socket_timeout": None,  # each exchange as a whole has its time
            "retry": Retry(NoBackoff(), 0),
            "decode_responses": True,
            "protocol": 2,
            "driver_info": None,
        }
        if is_tls:
            (settings["ssl_ca_certs"],) = parse_qs(parts.query).get("cafile", [None])
        return BlockingConnectionPool(
            connection_class=SSLConnection if is_tls else Connection,
            max_connections=_CONNECTIONS,
            timeout=self.patience.answer,
            **settings,
        )


class Line:
    """One process's way to a server; connects when there is something to do."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server
        self._pool = server.pool()

    async def run(self, calls: Sequence[Call]) -> list[Any]:
        """The answers to these calls, which go in one round trip; raises IndexAway."""
        commands = [call.command for call in calls]
        answers = await self._send(commands)
        if any(isinstance(answer, NoScriptError) for answer in answers):
            await self.ask(*(("SCRIPT", "LOAD", script.text) for script in EVERY))
            answers = await self._send(commands)  # all of them, in order: what ran already is a repeat
        return self._checked(answers)

    async def ask(self, *commands: Command) -> list[Any]:
        """The answers to plain commands, which go in one round trip; raises IndexAway."""
        return self._checked(await self._send(commands))

    async def close(self) -> None:
        """Ends every connection; whoever wants one later makes a new one."""
        await self._pool.disconnect()

    async def _send(self, commands: Sequence[Command]) -> list[Any]:
        """An answer or an error to each; raises IndexAway if there is none."""
        if not commands:
            return []
        try:
            async with asyncio.timeout(self._server.patience.answer):
                return await self._exchange(commands)
        except _GONE as err:  # what the library says may name more than host and port
            raise self._away(err) from None

    async def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        """On one connection, which ends by itself if this is broken off: what comes on it later is nobody's answer."""
        connection = await self._pool.get_connection()  # type: ignore[no-untyped-call]
        try:
            await connection.send_packed_command(connection.pack_commands(commands))
            return [await _answer(connection) for _ in commands]
        finally:
            await self._pool.release(connection)

    def _checked(self, answers: list[Any]) -> list[Any]:
        for answer in answers:
            if isinstance(answer, RedisError):
                raise self._away(answer)
        return answers

    def _away(self, err: BaseException) -> IndexAway:
        return IndexAway(self._server.shown, why(err))


async def _answer(connection: AbstractConnection) -> Any:
    try:
        return await connection.read_response()
    except ResponseError as err:
        return err


def why(err: BaseException) -> str:
    """A failure in words of ours, or by the name that Redis has for it."""
    match err:
        case ResponseError() | AuthenticationError() | BusyLoadingError():
            return _why_refused(err)
        case InvalidResponse():
            return "it is no Redis"
        case redis.exceptions.TimeoutError() | TimeoutError():
            return "no answer in time"
        case _:
            return _why_lost(err)


def _why_refused(err: RedisError) -> str:
    match err:
        case AuthenticationError():
            return _NOT_LET_IN
        case OutOfMemoryError():
            return "it is out of memory (OOM)"
        case ReadOnlyError():
            return "it is a replica, and read only (READONLY)"
        case BusyLoadingError():
            return "it is still loading what it had (LOADING)"
        case _ if "unauthenticated" in str(err):  # whoever did not log in is refused by the length of a command
            return _NOT_LET_IN
        case _:
            return f"it says {err.status_code or str(err).split(' ', maxsplit=1)[0]}"


def _why_lost(err: BaseException) -> str:
    cause = err
    while not isinstance(cause, OSError) and (below := cause.__cause__ or cause.__context__) is not None:
        cause = below
    match cause:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not trusted ({cause.verify_message})"
        case ssl.SSLError():
            return f"TLS fails ({cause.reason})"
        case socket.gaierror():
            return "its name is not known"
        case OSError(errno=int(number)):
            return os.strerror(number).lower()
        case _:
            return "the connection was lost"
