"""A TCP connection to whichever address of a host answers first (RFC 8305, "Happy Eyeballs").

    addresses ─in_order→ families alternate ─connect→ attempts begin 250 ms apart, or when one fails → one socket

A host name may have several addresses of which some do not answer: an IPv6 address that is not routed, a network port
without a cable. The attempts overlap; the first connection that is established is returned, and all others are closed.
Nothing is sent on any of them, and together they have one timeout.
"""

import asyncio
import contextlib
import errno
import os
import resource
import socket
from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from streamward.drivers.rtsp import DialFailed
from streamward.model.source_url import Address
from streamward.model.stream_error import StreamErrorCode, StreamFailure

CONNECT_WITHIN = 4.5  # seconds for all attempts
ATTEMPT_EVERY = 0.25  # seconds: RFC 8305's Connection Attempt Delay
MAX_ADDRESSES = 8  # of one name: a DNS answer must not make a runner scan a network

REFUSED = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the connection was refused", is_unreachable=True)
_SILENT = StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="nothing answers there", is_unreachable=True)
_NO_ANSWER = {errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ETIMEDOUT}


_NO_RESOURCES = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL}


def in_order(addresses: Sequence[Address]) -> list[Address]:
    """Each address once, in the resolver's order with the two families alternating, and at most MAX_ADDRESSES."""
    by_version: dict[int, dict[Address, None]] = {}
    for address in addresses:
        by_version.setdefault(address.version, {})[address] = None
    alternating = chain.from_iterable(zip_longest(*by_version.values()))
    return [address for address in alternating if address is not None][:MAX_ADDRESSES]


async def connect(addresses: Sequence[Address], port: int) -> socket.socket:
    """The first connection that is established; raises DialFailed if there is none in time."""
    attempts: list[asyncio.Task[socket.socket]] = []
    established: asyncio.Task[socket.socket] | None = None
    with contextlib.ExitStack() as undo:
        undo.callback(_close_all, attempts)
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                established = await _race(addresses, port, attempts)
        except TimeoutError:
            pass
        errors = [attempt.exception() for attempt in attempts if attempt.done()]
        others = [attempt for attempt in attempts if attempt is not established]
        _close_all(others)
        if others:
            await asyncio.wait(others)
        undo.pop_all()
    if established is None:
        if exhausted := next(filter(None, map(exhaustion, errors)), None):
            raise DialFailed(exhausted)
        was_refused = any(isinstance(error, OSError) and error.errno not in _NO_ANSWER for error in errors)
        raise DialFailed(REFUSED if was_refused else _SILENT)
    return established.result()


def exhaustion(error: BaseException | None) -> StreamFailure | None:
    """What this host lacks, if that is why no connection was made; None: it is not."""
    if not isinstance(error, OSError) or error.errno not in _NO_RESOURCES:
        return None
    detail = f"this host has nothing left for a connection ({os.strerror(error.errno)})"
    if error.errno == errno.EMFILE:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        detail = f"this Worker has all {limit} descriptors open that it may: raise its limit (LimitNOFILE, ulimit -n)"
    return StreamFailure(code=StreamErrorCode.HOST_RESOURCES, detail=detail)


async def _race(
    addresses: Sequence[Address], port: int, attempts: list[asyncio.Task[socket.socket]]
) -> asyncio.Task[socket.socket] | None:
    """The attempt that is established first; None: all have failed."""
    rest = list(addresses)
    while rest or not all(attempt.done() for attempt in attempts):
        if rest:
            attempts.append(asyncio.ensure_future(_attempt(rest.pop(0), port)))
        pending = [attempt for attempt in attempts if not attempt.done()]
        pause = ATTEMPT_EVERY if rest else None
        done, _ = await asyncio.wait(pending, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
        for attempt in done:
            if attempt.exception() is None:
                return attempt
    return None


async def _attempt(address: Address, port: int) -> socket.socket:
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    connecting = socket.socket(family, socket.SOCK_STREAM)
    connecting.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connecting, (str(address), port))
    except BaseException:
        connecting.close()
        raise
    return connecting


def _close_all(attempts: Iterable[asyncio.Task[socket.socket]]) -> None:
    """Cancels them, and closes connections that were established."""
    for attempt in attempts:
        attempt.cancel()
        attempt.add_done_callback(_close)


def _close(attempt: asyncio.Task[socket.socket]) -> None:
    if not attempt.cancelled() and attempt.exception() is None:
        attempt.result().close()
