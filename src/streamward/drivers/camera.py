"""A camera on the network: resolves, checks where it leads, connects there and nowhere else, and reads what it sends.

No thread and no task for a camera's bytes: they come to a protocol that hands chunks to the sessions without I/O and
their access units on. Every step of a dial has its time, and all together `DIAL_WITHIN`; what blocks is cut by closing
the socket. A session that was set up is given back on every way out that still runs code.

Guaranteed: no connection to an address that the site does not allow, whatever a name resolves to and however often it
changes; nothing of a credential in what is told.
"""

import asyncio
import contextlib
import ipaddress
import secrets
import socket
import ssl
from collections.abc import Iterable
from dataclasses import dataclass

from streamward.model.address_policy import AddressFault, AddressPolicy
from streamward.model.source_url import Address, Credential, SourceKind, SourceUrl
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.model.video import VideoCodec
from streamward.protocol.rtp.reader import AccessUnit, ReaderSpec, RtpReader
from streamward.protocol.rtsp.client import (
    ClientSpec,
    ClientState,
    Described,
    Effect,
    Ended,
    Failed,
    Playing,
    RtspClient,
    Send,
)
from streamward.protocol.rtsp.framing import Interleaved
from streamward.protocol.rtsp.sdp import Track
from streamward.runtime.clock import Clock
from streamward.vision.camera import CameraListener
from streamward.vision.lane import ArrivedUnit

CONNECT_WITHIN = 5.0  # seconds for each of: resolve, connect, shake hands
DIAL_WITHIN = 8.0  # seconds until the camera plays
_PORTS = {SourceKind.RTSP: 554, SourceKind.RTSPS: 322}


@dataclass(frozen=True, slots=True, kw_only=True)
class CameraAddress:
    """Where a camera is, who may see it, and where its site lets us connect to."""

    url: SourceUrl
    credential: Credential | None
    addresses: AddressPolicy
    ca_file: str | None = None  # certificates that RTSPS trusts; None: the system's


class _Refused(Exception):
    """Ends a dial."""

    def __init__(self, failed: StreamFailure) -> None:
        super().__init__(failed)
        self.failed = failed


async def watch(camera: CameraAddress, listener: CameraListener, *, clock: Clock) -> StreamFailure:
    """Dials a camera and reads it until it ends; cancelled, it gives its session back first."""
    try:
        async with asyncio.timeout(DIAL_WITHIN) as dialing:
            address = await _resolved(camera)
            connection = await _connected(camera, address, listener, clock=clock)
            try:
                await connection.played
                dialing.reschedule(None)
                return await connection.ended
            finally:
                await connection.close()
    except _Refused as refused:
        return refused.failed
    except TimeoutError:
        return StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="the camera did not answer in time")


async def _resolved(camera: CameraAddress) -> str:
    """The first address of the camera's host that its site allows; it is the one that is connected to."""
    literal = camera.url.address
    found = [literal] if literal is not None else await _look_up(camera.url.host)
    faults: list[AddressFault] = []
    for address in found:
        fault = camera.addresses.judge(address)
        if fault is None:
            return str(address)
        faults.append(fault)
    raise _Refused(
        StreamFailure(code=StreamErrorCode.URL_FORBIDDEN, detail=f"the site does not allow this address ({faults[0]})")
    )


async def _look_up(host: str) -> list[Address]:
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(CONNECT_WITHIN):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, TimeoutError):
        raise _Refused(StreamFailure(code=StreamErrorCode.DNS_FAILED, detail="the host's name is not known")) from None
    return [ipaddress.ip_address(str(each[4][0]).partition("%")[0]) for each in found]


async def _connected(camera: CameraAddress, address: str, listener: CameraListener, *, clock: Clock) -> "_Connection":
    url = camera.url
    tls = _tls(camera) if url.kind is SourceKind.RTSPS else None
    try:
        async with asyncio.timeout(CONNECT_WITHIN):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(camera, listener, clock=clock),
                address,
                url.port or _PORTS[url.kind],
                ssl=tls,
                server_hostname=url.host if tls is not None else None,
            )
    except ssl.SSLError:
        raise _Refused(
            StreamFailure(code=StreamErrorCode.TLS_FAILED, detail="the camera's certificate or its TLS is not accepted")
        ) from None
    except TimeoutError:
        raise _Refused(StreamFailure(code=StreamErrorCode.TCP_TIMEOUT, detail="nothing answers there")) from None
    except OSError:
        raise _Refused(StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the connection was refused")) from None
    return connection


def _tls(camera: CameraAddress) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=camera.ca_file)


class _Connection(asyncio.Protocol):
    """One connection and the sessions on it."""

    def __init__(self, camera: CameraAddress, listener: CameraListener, *, clock: Clock) -> None:
        loop = asyncio.get_running_loop()
        self.played: asyncio.Future[None] = loop.create_future()
        self.ended: asyncio.Future[StreamFailure] = loop.create_future()
        self._listener = listener
        self._clock = clock
        self._loop = loop
        self._client = RtspClient(ClientSpec(url=camera.url, credential=camera.credential, seed=secrets.token_hex(8)))
        self._reader: RtpReader | None = None
        self._codec = VideoCodec.H264
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._apply(self._client.start(self._clock.boot()))

    def data_received(self, data: bytes) -> None:
        self._apply(self._client.receive(data, self._clock.boot()))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the library's signature
        if self._timer is not None:
            self._timer.cancel()
        self._end(StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the camera hung up"))

    async def close(self) -> None:
        """Gives the session back if there is one, and closes in any case."""
        if self._transport is None:
            return
        if not self._transport.is_closing() and self._client.state is not ClientState.ENDED:
            self._apply(self._client.teardown(self._clock.boot()))
            with contextlib.suppress(asyncio.CancelledError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await asyncio.shield(self.ended)
        self._transport.abort()
        for waited in (self.played, self.ended):
            waited.cancel()

    def _apply(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Interleaved):  # nearly all are
                self._packet(effect.channel, effect.payload)
            else:
                self._rare(effect)
        self._wait_for(self._client.next_deadline())

    def _rare(self, effect: Effect) -> None:
        match effect:
            case Send(content):
                assert self._transport is not None
                self._transport.write(content)
            case Described(track):
                self._described(track)
            case Playing():
                self._listener.playing(self._codec)
                self.played.set_result(None)
            case Failed():
                self._end(_told(effect))
            case Ended():
                self._end(StreamFailure(code=StreamErrorCode.TCP_REFUSED, detail="the session was given back"))

    def _described(self, track: Track) -> None:
        assert track.codec is not None
        self._codec = track.codec
        self._reader = RtpReader(
            ReaderSpec(
                codec=track.codec,
                payload_type=track.payload_type,
                clock_rate=track.clock_rate,
                parameter_sets=track.parameter_sets,
            )
        )

    def _packet(self, channel: int, payload: memoryview) -> None:
        if self._reader is None or channel != self._client.channels.rtp:
            return
        for found in self._reader.receive(payload):
            if isinstance(found, AccessUnit) and not found.is_damaged:  # else it would be seen, but smeared
                self._listener.unit(
                    ArrivedUnit(content=found.content, is_keyframe=found.is_keyframe, arrived_at=self._clock.boot())
                )

    def _wait_for(self, deadline: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if deadline != float("inf"):
            self._timer = self._loop.call_later(max(0.0, deadline - self._clock.boot()), self._due)

    def _due(self) -> None:
        self._timer = None
        self._apply(self._client.due(self._clock.boot()))

    def _end(self, failed: StreamFailure) -> None:
        if not self.played.done():
            self.played.set_exception(_Refused(failed))
        if not self.ended.done():
            self.ended.set_result(failed)


def _told(failed: Failed) -> StreamFailure:
    status = "" if failed.status is None else f" with status {failed.status}"
    return StreamFailure(
        code=failed.code,
        detail=f"the camera ended the session at {failed.step.value}{status}",
        is_login_refused=failed.is_login_refused,
    )
