"""A camera on the network: resolves, checks where it leads, connects there and nowhere else, and reads what it sends.

Every step of a dial has its time, and all together `DIAL_WITHIN`; what blocks is cut by closing the socket. A session
that was set up is given back on every way out that still runs code. Files and devices of this host, where a site allows
them, are `drivers/local.py`'s, and empty pictures `drivers/null.py`'s.

Guaranteed: no connection to an address that the site, the installation or this runner's settings do not allow, whatever
a name resolves to and however often it changes; no file outside the runner's folders; nothing of a credential in what
is told.
"""

import asyncio
import socket
from dataclasses import replace

from streamward.drivers import camera_tls, happy_eyeballs, local, null
from streamward.drivers.addresses import CameraAddress, allowed_addresses
from streamward.drivers.rounds import Rounds
from streamward.drivers.rtsp import DialFailed, RtspConnection
from streamward.model.source_url import NETWORK, SourceKind
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.runtime.clock import Clock
from streamward.vision.camera import CameraListener

HANDSHAKE_WITHIN = 4.5  # seconds
DIAL_WITHIN = 7.5  # seconds until the camera plays
HANGS_UP_WITHIN = 0.2  # seconds: who is there does not
PROBE_WITHIN = 1.0  # seconds for the probe after a dial that was cut

_SLOW = StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="the camera did not answer in time")
_NOT_SHOWN = StreamFailure(
    code=StreamErrorCode.RTSP_REFUSED,
    detail="the restreamer got no stream: wrong login, no such stream, no room, or no video that it knows",
)


async def watch(
    camera: CameraAddress, listener: CameraListener, *, clock: Clock, rounds: Rounds | None = None
) -> StreamFailure:
    """Dials a camera and reads it until it ends, whenever something comes or (without TLS) in rounds.

    Cancelled, it gives its session back first.
    """
    if camera.url.kind not in NETWORK:
        return await _watch_host(camera, listener, clock=clock)
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


async def _watch_host(camera: CameraAddress, listener: CameraListener, *, clock: Clock) -> StreamFailure:
    """The same for a source of this host."""
    if (refusal := camera.forbids_kind()) is not None:
        return refusal
    if camera.url.kind is SourceKind.NULL:
        return await null.watch(camera.url, listener, clock=clock)
    return await local.watch(camera.url, listener, clock=clock, folders=camera.limits.folders)


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
    context = camera.trust.context() if is_secret else None
    dialed = await _dialed(camera)
    try:
        async with asyncio.timeout(HANDSHAKE_WITHIN):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: RtspConnection(camera.url, camera.credential, listener, clock),
                sock=dialed,
                ssl=context,
                server_hostname=camera.url.host if is_secret else None,
            )
    except OSError as error:  # a handshake that takes too long is one as well
        raise DialFailed(camera_tls.failure_of(error) if is_secret else happy_eyeballs.REFUSED) from None
    if rounds is not None and not is_secret:  # what TLS has taken from the socket already, nobody else can read
        connection.read_in(rounds, dialed)
    return connection


async def _dialed(camera: CameraAddress) -> socket.socket:
    """A connection to the first allowed address of the camera's host that answers, with nothing sent on it."""
    return await happy_eyeballs.connect(await allowed_addresses(camera), camera.port)
