"""A client of cameras over real sockets, made of the protocol's own client; tests wait for what it has seen."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar

from streamward.model.source_url import Credential, parse
from streamward.model.video import VideoCodec
from streamward.protocol import sei
from streamward.protocol.rtp import nal, rtcp
from streamward.protocol.rtp.reader import AccessUnit, Fact, ReaderSpec, RtpReader
from streamward.protocol.rtsp.client import ClientSpec, Described, Ended, Failed, Playing, RtspClient, Send
from streamward.protocol.rtsp.framing import Interleaved
from tests.support.news import PATIENCE, News

# Not the recorder's own address: who dials 127.0.0.1 from there while nobody listens may connect to itself.
ELSEWHERE = "127.0.0.9"
T = TypeVar("T")


class Watch:
    """One session and all that came of it."""

    def __init__(self, client: RtspClient, writer: asyncio.StreamWriter) -> None:
        self.client = client
        self.effects: list[object] = []
        self.units: list[AccessUnit] = []
        self.facts: list[Fact] = []
        self.reports: list[rtcp.SenderReport] = []
        self.chunks: list[int] = []  # sizes
        self.is_cut = False
        self._codec = VideoCodec.H264
        self._reader: RtpReader | None = None
        self._writer = writer
        self._news = News()

    async def run(self, reader: asyncio.StreamReader) -> None:
        """Plays until the connection or the session ends."""
        self._apply(self.client.start(_now()))
        while not self.is_over:
            chunk = await self._read(reader)
            if chunk == b"":
                self.is_cut = True
                break
            self._apply(self.client.receive(chunk, _now()) if chunk else self.client.due(_now()))
        self._news.set()

    @property
    def is_over(self) -> bool:
        """Whether the session has ended, in whatever way."""
        return self.is_cut or any(isinstance(effect, Failed | Ended) for effect in self.effects[-2:])

    async def until(self, look: Callable[["Watch"], T], *, within: float = PATIENCE) -> T:
        """Waits until something is seen."""
        return await self._news.until(lambda: look(self), within=within)

    async def first(self, kind: type[T]) -> T:
        """Waits for an effect or a fact of a kind."""
        found = await self.until(lambda w: [each for each in (*w.effects, *w.facts) if isinstance(each, kind)])
        return found[0]

    async def pictures(self, count: int, *, within: float = PATIENCE) -> list[AccessUnit]:
        """Waits for so many more."""
        before = len(self.units)
        await self.until(lambda w: len(w.units) >= before + count, within=within)
        return self.units[before : before + count]

    def note(self, unit: AccessUnit) -> sei.SentFrame:
        """What a picture says of itself."""
        found = (sei.read(each, codec=self._codec) for each in nal.split(unit.content))
        return next(each for each in found if each)

    def give_back(self) -> None:
        """Ends the session as it should be ended."""
        self._apply(self.client.teardown(_now()))

    async def _read(self, reader: asyncio.StreamReader) -> bytes | None:
        """A chunk; None: a deadline came first."""
        try:
            async with asyncio.timeout(max(0.0, min(60.0, self.client.next_deadline() - _now()))):
                chunk = await reader.read(262_144)
        except TimeoutError:
            return None
        except ConnectionError:
            return b""
        self.chunks.append(len(chunk))
        return chunk

    def _apply(self, effects: Sequence[object]) -> None:
        for effect in effects:
            match effect:
                case Send(content):
                    self._writer.write(content)
                case Interleaved(channel, payload):
                    self._take(channel, payload)
                case Described(track):
                    assert track.codec
                    self._codec = track.codec
                    spec = ReaderSpec(
                        codec=track.codec, payload_type=track.payload_type, parameter_sets=track.parameter_sets
                    )
                    self._reader = RtpReader(spec)
                    self.effects.append(effect)
                case _:
                    self.effects.append(effect)
        self._news.set()

    def _take(self, channel: int, payload: memoryview) -> None:
        assert self._reader
        if channel == self.client.channels.rtcp:
            self.reports += [each for each in rtcp.parse(payload) if isinstance(each, rtcp.SenderReport)]
            return
        for found in self._reader.receive(payload):
            if isinstance(found, AccessUnit):
                self.units.append(found)
            else:
                self.facts.append(found)


@contextlib.asynccontextmanager
async def watching(
    url: str,
    *,
    credential: Credential | None = None,
    answer_within: float = PATIENCE,
    come_from: str = ELSEWHERE,
    trust: ssl.SSLContext | None = None,
) -> AsyncIterator[Watch]:
    """Dials a camera; the connection is cut at the end, without giving the session back."""
    source = parse(url)
    address = (source.url.host, source.url.port)
    reader, writer = await asyncio.open_connection(*address, local_addr=(come_from, 0), ssl=trust)
    spec = ClientSpec(url=source.url, seed="seed", credential=credential, answer_within=answer_within)
    watch = Watch(RtspClient(spec), writer)
    running = asyncio.create_task(watch.run(reader))
    try:
        yield watch
    finally:
        running.cancel()
        await asyncio.wait([running])
        writer.transport.abort()


async def played(watch: Watch) -> None:
    """Waits until a camera plays, and shows something."""
    await watch.first(Playing)
    await watch.pictures(1)


def _now() -> float:
    return asyncio.get_running_loop().time()
