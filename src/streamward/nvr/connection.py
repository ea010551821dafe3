"""One client's connection: bytes in, the sans-I/O server's effects out, with the recorder's faults in between."""

import asyncio
import random
import secrets
import socket
from dataclasses import replace
from typing import cast

from streamward.nvr.camera import Shot
from streamward.nvr.desk import Desk
from streamward.nvr.faults import STEPS, Slow, Step
from streamward.nvr.recorder import Recorder
from streamward.nvr.tally import Deed
from streamward.nvr.viewer import Viewer
from streamward.nvr.wire import Wire
from streamward.protocol.rtp.writer import RtpSender
from streamward.protocol.rtsp.framing import Channels, Interleaved
from streamward.protocol.rtsp.message import Reply, Status
from streamward.protocol.rtsp.server import (
    Answered,
    Effect,
    RtspServer,
    ServerSpec,
    SetUp,
    Started,
    Stopped,
    Unreadable,
)

SEND_BUFFER = 262_144  # bytes that the kernel may hold for a client
_STEPS = {step.upper(): step for step in Step}


class OpenConnections(set["Connection"]):
    """Connections that are open, and a way to wait until none is."""

    def __init__(self) -> None:
        super().__init__()
        self._is_empty = asyncio.Event()

    def discard(self, connection: object) -> None:
        """One has ended."""
        super().discard(connection)
        if not self:
            self._is_empty.set()

    async def end(self) -> None:
        """Cuts them all, and waits until each has ended."""
        self._is_empty.clear()
        for connection in tuple(self):
            connection.cut()
        if self:
            await self._is_empty.wait()


class Connection(asyncio.Protocol):
    """From the first byte to the last; `open_ones` has it while it is open."""

    def __init__(self, recorder: Recorder, open_ones: "OpenConnections") -> None:
        self._recorder = recorder
        self._open_ones = open_ones
        self._loop = asyncio.get_running_loop()
        self._session: str | None = None
        self._viewer: Viewer | None = None
        self._reached = Step.CONNECT
        self._is_gone = False  # it plays dead
        self._address: str
        self._port: int

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody came."""
        spec = self._recorder.spec
        self._transport = transport = cast("asyncio.Transport", transport)
        self._address, self._port = (transport.get_extra_info("peername") or ("?", 0))[:2]
        _keep_kernel_buffer_small(transport)
        self._wire = Wire(transport, largest_backlog=spec.largest_backlog)
        self._desk = Desk(self._recorder, address=self._address, now=self._loop.time)
        self._server = RtspServer(
            ServerSpec(policy=self._desk, session_id=secrets.token_hex(8), timeout=spec.session_timeout)
        )
        self._heard_at = self._loop.time()
        self._open_ones.add(self)
        self._recorder.count(Deed.CONNECTED, camera=None, address=self._address)
        self.look()

    def data_received(self, data: bytes) -> None:
        """The client spoke."""
        slow = self._recorder.board.find(Slow, self.camera)
        if slow is None:
            self._take(data)
        else:
            self._loop.call_later(slow.seconds, self._take, data)

    def _take(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        now = self._heard_at = self._loop.time()
        effects = self._server.receive(data, now)
        if self._recorder.board.is_away(self.camera, now) and self._session is None:
            self.cut()
        self.look()
        for effect in effects:
            if not self._is_gone:
                self._apply(effect, now)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """It is over, however it ended."""
        self._open_ones.discard(self)
        self._wire.stop()
        self._stop()
        self._end_session(is_given_back=False)

    @property
    def camera(self) -> str | None:
        """The camera that the client came for."""
        return self._desk.camera

    def look(self) -> None:
        """Plays dead from now on, if a fault says so; cuts the connection once none does any more."""
        is_half_open = self._recorder.conduct(self.camera).is_half_open
        if is_half_open and not self._is_gone:
            self._is_gone = True
            self._wire.stop()
            self._transport.pause_reading()
        elif self._is_gone and not is_half_open:
            self.cut()

    def tick(self, now: float) -> None:
        """Ends what was silent for too long."""
        if self._is_gone:
            return
        for effect in self._server.due(now):
            self._apply(effect, now)
        if self._session is None and now - self._heard_at > self._recorder.spec.session_timeout:
            self.cut()

    def cut(self) -> None:
        """Ends the connection without a word."""
        self._is_gone = True
        self._transport.abort()

    def show(self, shot: Shot, now: float) -> None:
        """Sends a picture, unless a fault keeps it back."""
        viewer, conduct = self._viewer, self._recorder.conduct(self.camera)
        if viewer is None or self._is_gone or conduct.is_mute(self._reached):
            return
        frames = viewer.frames(shot, conduct, now)
        if frames and not self._wire.send(frames, trickle_every=conduct.trickle_every(self._reached)):
            self._recorder.count(Deed.DROPPED, camera=self.camera, address=self._address)
            self.cut()

    def _apply(self, effect: Effect, now: float) -> None:
        match effect:
            case Answered(request, reply):
                self._answer(request.method, reply)
            case SetUp(_, session_id):
                self._open_session(session_id, now)
            case Started(_, channels):
                self._start(channels, now)
            case Stopped(is_timed_out=is_timed_out):
                self._stop()
                self._end_session(is_given_back=not is_timed_out)
                if is_timed_out:
                    self.cut()
            case Unreadable():
                self._transport.close()
            case Interleaved():
                pass  # receiver reports: that they came is all there is to them

    def _answer(self, method: str, reply: Reply) -> None:
        conduct = self._recorder.conduct(self.camera)
        if conduct.is_mute(self._reached):
            return
        if reply.status == Status.NOT_ENOUGH_BANDWIDTH and self._desk.refusal == 503:
            reply = replace(reply, status=Status.UNAVAILABLE, reason="Service Unavailable")
        self._wire.send([reply.encode()], trickle_every=conduct.trickle_every(self._reached))
        step = _STEPS.get(method)
        if step is not None and reply.is_success:
            self._reached = max(self._reached, step, key=STEPS.index)

    def _open_session(self, session_id: str, now: float) -> None:
        assert self.camera is not None
        self._session = session_id
        self._recorder.sessions.open(session_id, self.camera, now, client=f"{self._address}:{self._port}")
        self._recorder.count(Deed.SESSION_OPENED, camera=self.camera, address=self._address)

    def _end_session(self, *, is_given_back: bool) -> None:
        if self._session is None or self.camera is None:
            return
        now = self._loop.time()
        self._recorder.end_session(self._session, camera=self.camera, now=now, is_given_back=is_given_back)
        deed = Deed.SESSION_ENDED if is_given_back else Deed.SESSION_LOST
        self._recorder.count(deed, camera=self.camera, address=self._address)
        self._session = None

    def _start(self, channels: Channels, now: float) -> None:
        """Shows everything since the latest keyframe at once, unless we let clients wait for the next."""
        assert self.camera is not None
        camera = self._recorder.cameras[self.camera]
        sender = RtpSender(
            ssrc=secrets.randbits(32),
            payload_type=camera.manner.reel.payload_type,
            sequence=secrets.randbits(16),
            offset=secrets.randbits(32),
            channel=channels.rtp,
        )
        dice = random.Random(sender.ssrc)  # noqa: S311 - damage, no secret
        self._viewer = Viewer(sender=sender, rtcp_channel=channels.rtcp, camera=self.camera, dice=dice)
        camera.watchers.add(self)
        for shot in camera.since_keyframe if self._recorder.spec.is_prompt else ():
            self.show(shot, now)

    def _stop(self) -> None:
        self._viewer = None
        if self.camera is not None:
            self._recorder.cameras[self.camera].watchers.discard(self)


def _keep_kernel_buffer_small(transport: asyncio.Transport) -> None:
    """Otherwise it grows to megabytes for a client that does not read, and we would notice late."""
    opened = transport.get_extra_info("socket")
    if opened is not None:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
