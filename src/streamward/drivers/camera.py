"""A camera on the network: resolves, checks where it leads, connects there and nowhere else, and reads what it sends.

Every step of a dial has its time, and all together `DIAL_WITHIN`; what blocks is cut by closing the socket. A session
that was set up is given back on every way out that still runs code. Files and devices of this host, where a site allows
them, are `drivers/local.py`'s, and empty pictures `drivers/null.py`'s.

Guaranteed: no connection to an address that the site does not allow, whatever a name resolves to and however often it
changes; nothing of a credential in what is told.
"""

import asyncio
import contextlib
import errno
import functools
import socket
import ssl
from dataclasses import replace
from pathlib import Path

from streamward.drivers import local, null
from streamward.drivers.addresses import CameraAddress, resolved
from streamward.drivers.rounds import Rounds
from streamward.drivers.rtsp import DialFailed, RtspConnection
from streamward.model.source_url import NETWORK, SourceKind
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.runtime.clock import Clock
from streamward.vision.camera import CameraListener

CONNECT_WITHIN = 4.5  # seconds for each of: connect, shake hands
DIAL_WITHIN = 7.5  # seconds until the camera plays
HANGS_UP_WITHIN = 0.2  # seconds: who is there does not
PROBE_WITHIN = 1.0  # seconds for the probe after a dial that was cut
_HERE = {SourceKind.FILE: local.watch, SourceKind.DEVICE: local.watch, SourceKind.NULL: null.watch}
_NO_ANSWER = {errno.EHOSTUNREACH, errno.EHOSTDOWN, errno.ENETUNREACH, errno.ETIMEDOUT}

_REFUSED = StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the connection was refused", is_unreachable=True)
_SILENT = StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="nothing answers there", is_unreachable=True)
_SLOW = StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="the camera did not answer in time")
_UNTRUSTED = StreamFailure(
    code=StreamErrorCode.TLS_FAILED, detail="the camera's certificate or its TLS is not accepted"
)
_NOT_SHOWN = StreamFailure(
    code=StreamErrorCode.RTSP_REFUSED,
    detail="the restreamer got no stream: wrong login, no such stream, no room, or no video that it knows",
)
_FORBIDDEN_KIND = StreamFailure(
    code=StreamErrorCode.URL_FORBIDDEN, detail="the site does not allow sources of this kind"
)
_NO_AUTHORITY = StreamFailure(
    code=StreamErrorCode.TLS_FAILED, detail="the file of certificates to trust cannot be read"
)


async def watch(
    camera: CameraAddress, listener: CameraListener, *, clock: Clock, rounds: Rounds | None = None
) -> StreamFailure:
    """Dials a camera and reads it until it ends, whenever something comes or (without TLS) in rounds.

    Cancelled, it gives its session back first.
    """
    if camera.url.kind not in camera.addresses.kinds:
        return _FORBIDDEN_KIND
    if camera.url.kind not in NETWORK:
        return await _HERE[camera.url.kind](camera.url, listener, clock=clock)
    connection: RtspConnection | None = None
    try:
        async with asyncio.timeout(DIAL_WITHIN):
            connection = await _connected(camera, listener, clock=clock, rounds=rounds)
            await connection.played
        return await connection.ended
    except DialFailed as failed:
        if connection is None or not connection.is_unanswered:
            return failed.failure
        return replace(failed.failure, is_unreachable=not await _is_there(camera))
    except TimeoutError:
        if connection is None:
            return _SLOW
        slow = connection.judged(_SLOW)
        await connection.close(within=0.0)  # its time is over
        return slow
    finally:
        if connection is not None:
            await connection.close()


async def probe(camera: CameraAddress) -> bool:
    """Whether somebody is where the camera is who does not hang up at once; nothing is said to them.

    Whoever forwards a port takes every connection, and hangs up when nobody is behind it.
    """
    try:
        dialed = await _dialed(camera)
    except DialFailed as failed:
        return not failed.failure.is_unreachable  # whatever else is wrong, a dial tells better
    with dialed:
        return not await _is_hung_up(dialed)


async def explained(camera: CameraAddress, failure: StreamFailure) -> StreamFailure:
    """Why a restreamer does not show a camera, of which it says only that it has no such stream."""
    if failure.code is not StreamErrorCode.RTSP_NOT_FOUND:
        return failure
    try:
        (await _dialed(camera)).close()
    except DialFailed as failed:
        return failed.failure
    return _NOT_SHOWN


async def _is_there(camera: CameraAddress) -> bool:
    """Whether one who hung up before a word does not do so to everybody."""
    try:
        async with asyncio.timeout(PROBE_WITHIN):
            return await probe(camera)
    except TimeoutError:
        return True


async def _is_hung_up(dialed: socket.socket) -> bool:
    try:
        async with asyncio.timeout(HANGS_UP_WITHIN):
            return not await asyncio.get_running_loop().sock_recv(dialed, 1)
    except TimeoutError:
        return False
    except OSError:
        return True


async def _connected(
    camera: CameraAddress, listener: CameraListener, *, clock: Clock, rounds: Rounds | None
) -> RtspConnection:
    is_secret = camera.url.kind is SourceKind.RTSPS
    trust = _trust(camera.ca_file) if is_secret else None
    dialed = await _dialed(camera)
    try:
        async with asyncio.timeout(CONNECT_WITHIN):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: RtspConnection(camera.url, camera.credential, listener, clock),
                sock=dialed,
                ssl=trust,
                server_hostname=camera.url.host if is_secret else None,
            )
    except OSError:  # a handshake that takes too long is one as well
        raise DialFailed(_UNTRUSTED if is_secret else _REFUSED) from None
    if rounds is not None and not is_secret:  # what TLS has taken from the socket already, nobody else can read
        connection.read_in(rounds, dialed)
    return connection


async def _dialed(camera: CameraAddress) -> socket.socket:
    """A connection to the first address of the camera's host that its site allows, with nothing said on it."""
    address = await resolved(camera)
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET
    dialed = socket.socket(family, socket.SOCK_STREAM)
    dialed.setblocking(False)
    with contextlib.ExitStack() as undo:
        undo.callback(dialed.close)
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                await asyncio.get_running_loop().sock_connect(dialed, (str(address), camera.port))
        except TimeoutError:
            raise DialFailed(_SILENT) from None
        except OSError as error:
            raise DialFailed(_SILENT if error.errno in _NO_ANSWER else _REFUSED) from None
        undo.pop_all()
    return dialed


def _trust(ca_file: str | None) -> ssl.SSLContext:
    """What certificates are checked with; read once, and again when the file was replaced."""
    try:
        return _read_trust(ca_file, Path(ca_file).stat().st_mtime_ns if ca_file else 0)
    except OSError:
        raise DialFailed(_NO_AUTHORITY) from None


@functools.lru_cache(maxsize=64)
def _read_trust(ca_file: str | None, _changed_at: int) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=ca_file)
