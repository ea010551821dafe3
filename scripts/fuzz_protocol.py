"""Feeds RTSP and RTP with what no camera should send: `python scripts/fuzz_protocol.py --minutes 10 --seed 1`.

Each execution mutates a recorded conversation or stream (bits, bytes, pieces cut out, doubled, swapped, cut at any
place) and gives it to both ends, to the reader and to the parsers. Nothing may raise but the packages' own errors, and
nothing may hold more than its bound or take long. It stops at the first execution that does, and prints its seed.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from contextlib import suppress

from streamward.model.secret import Secret
from streamward.model.source_url import Credential, parse
from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.protocol.rtp import rtcp
from streamward.protocol.rtp.nal import START_CODE, join
from streamward.protocol.rtp.packet import RtpError
from streamward.protocol.rtp.parameter_sets import ParameterSets
from streamward.protocol.rtp.reader import ReaderSpec, RtpReader
from streamward.protocol.rtp.writer import RtpSender, packetize
from streamward.protocol.rtsp import sdp
from streamward.protocol.rtsp.authentication import Algorithm, Guard, Login
from streamward.protocol.rtsp.client import ClientSpec, RtspClient
from streamward.protocol.rtsp.framing import LARGEST_HEAD, Interleaved, StreamDecoder
from streamward.protocol.rtsp.message import LARGEST_BODY, Reply, Request, RtspError
from streamward.protocol.rtsp.server import Answered, RtspServer, ServerSpec

USER = Credential(user=Secret("user"), password=Secret("pass"))
URL = "rtsp://cam/live"
LARGEST_UNIT = 500  # a fifth of what is sent: the bound is met all the time
WINDOW = 8
MOST_SECONDS = 3.0  # of processor time: a hundred times what an execution takes
PARAMETER_SETS = {
    VideoCodec.H264: (
        "6742c00dda0507e840000003004000000ca3c50aa8",
        "68ce0fc8",
    ),
    VideoCodec.H265: (
        "40010c01ffff01600000030090000003000003003cba0240",
        "42010101600000030090000003000003003ca00a080f165ba4a4c2e68080000003008000000c84",
        "4401c0718312",
    ),
}
SLICES = {VideoCodec.H264: "658884", VideoCodec.H265: "2601af"}
UNITS = {
    codec: join([bytes.fromhex(each) for each in (*sets, SLICES[codec])]) + bytes(range(1, 256)) * 9
    for codec, sets in PARAMETER_SETS.items()
}
DICTIONARY = (
    b"$", b"$\0\0\x0c\x80", b"RTSP/1.0 200 OK\r\n", b"\r\n\r\n", b"Content-Length: 65536\r\n", b"Content-Length: 5\r\n",
    b"CSeq: 1\r\n", b"Session: 1;timeout=0\r\n", b'WWW-Authenticate: Digest nonce="', b", stale=true", b"\0",
    b"m=video 0 RTP/AVP 96\r\n", b"a=rtpmap:96 H265/90000\r\n", b"Transport: RTP/AVP/TCP;interleaved=255\r\n",
    START_CODE, b"\x7c\x85", b"\x62\x01\x93", b"REDIRECT * RTSP/1.0\r\n",
)  # fmt: skip


class HeldTooMuch(Exception):
    """A buffer above its bound."""


class TookTooLong(Exception):
    """An execution that a sender could keep a processor busy with."""


class OpenHouse:
    """A server that shows one camera to whoever knows the password."""

    def __init__(self) -> None:
        self._guard = Guard(USER, "nonce", algorithms=tuple(Algorithm), allows_basic=True)

    def intervene(self, _request: Request) -> Reply | None:
        return None

    def guard(self, uri: str) -> Guard | None:
        return self._guard if "live" in uri else None

    def describe(self, uri: str) -> sdp.Description | None:
        track = sdp.Track(media="video", payload_type=96, encoding="H264", codec=VideoCodec.H264, control="track0")
        return sdp.Description(tracks=(track,), control="*") if "cam" in uri else None

    def admit(self, _uri: str) -> bool:
        return True


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The same with a few mistakes."""
    mistaken = bytearray(content)
    for _ in range(rng.randrange(6)):
        place = rng.randrange(len(mistaken) + 1)
        match rng.randrange(6):
            case 0 if mistaken:
                mistaken[place % len(mistaken)] ^= 1 << rng.randrange(8)
            case 1 if mistaken:
                mistaken[place % len(mistaken)] = rng.randrange(256)
            case 2:
                del mistaken[place : place + rng.randrange(40)]
            case 3:
                mistaken[place:place] = rng.choice(DICTIONARY)
            case 4:
                mistaken[place:place] = mistaken[place : place + rng.randrange(200)]
            case _:
                mistaken[place:place] = rng.randbytes(rng.randrange(20))
    return bytes(mistaken)


def chunks(content: bytes, rng: random.Random) -> list[bytes]:
    """Cut at any place."""
    places = sorted(rng.randrange(len(content) + 1) for _ in range(rng.randrange(8)))
    return [content[start:end] for start, end in zip([0, *places], [*places, len(content)], strict=True)]


def fuzz_framing(rng: random.Random) -> None:
    stream = rng.randbytes(rng.randrange(2000)) if rng.random() < 0.3 else mutated(_frames(rng, VideoCodec.H264), rng)
    decoder = StreamDecoder(resync=rng.choice(((), (0, 1))))
    for chunk in chunks(stream + rng.choice(DICTIONARY) * rng.choice((0, 10, 300, 6000)), rng):
        decoder.feed(chunk)
        _hold(decoder.buffered, LARGEST_HEAD + LARGEST_BODY)


def fuzz_session(rng: random.Random) -> None:
    """Both ends, with a bad line between them."""
    client = RtspClient(ClientSpec(url=parse(URL).url, seed="s", credential=rng.choice((USER, None))))
    server = RtspServer(ServerSpec(policy=OpenHouse(), session_id="sid"))
    now, sent = 0.0, [*client.start(0.0)]
    for _ in range(12):
        asked = b"".join(effect.content for effect in sent if hasattr(effect, "content"))
        asked = mutated(asked, rng) if rng.random() < 0.2 else asked
        answers = [each for chunk in chunks(asked, rng) for each in server.receive(chunk, now)]
        said = b"".join(each.reply.encode() for each in answers if isinstance(each, Answered))
        said = mutated(said, rng) if rng.random() < 0.4 else said
        sent = [each for chunk in chunks(said, rng) for each in client.receive(chunk, now)]
        now += rng.choice((0.0, 0.5, 31.0))
        sent += client.due(now) if rng.random() < 0.3 else []
        server.due(now)
    client.teardown(now)


def fuzz_reader(rng: random.Random) -> None:
    codec = rng.choice(NAL_CODECS)
    reader = RtpReader(ReaderSpec(codec=codec, payload_type=96, window=WINDOW, largest_unit=LARGEST_UNIT))
    largest = 0
    for frame in StreamDecoder(resync=(0, 1)).feed(mutated(_frames(rng, codec), rng)):
        if isinstance(frame, Interleaved):
            content = mutated(bytes(frame.payload), rng) if rng.random() < 0.3 else frame.payload
            reader.receive(memoryview(content))
            largest = max(largest, len(content))
            _hold(reader.buffered, LARGEST_UNIT + (WINDOW + 2) * largest)


def fuzz_parsers(rng: random.Random) -> None:
    description = OpenHouse().describe(URL)
    assert description is not None
    with suppress(RtspError):
        sdp.parse(mutated(description.encode(), rng))
    with suppress(RtpError):
        rtcp.parse(mutated(rtcp.SenderReport(ssrc=1, wall_time=1e9, timestamp=5).encode(), rng))
    codec = rng.choice(NAL_CODECS)
    with suppress(RtpError):
        packetize(codec, mutated(UNITS[codec], rng), largest=rng.randrange(2000))
    sets = ParameterSets(codec)
    for nal in UNITS[codec].split(START_CODE):
        sets.learn(mutated(nal[:200], rng))
    login = Login(USER, "s")
    for header in Guard(USER, "n", algorithms=tuple(Algorithm), has_qop=True).challenge():
        login.challenged([mutated(header.encode(), rng).decode(errors="surrogateescape")])
        answer = login.answer("PLAY", URL)
        Guard(USER, "n").check(
            "PLAY", URL, mutated((answer or "").encode(errors="surrogateescape"), rng).decode("latin-1")
        )


def _frames(rng: random.Random, codec: VideoCodec) -> bytes:
    sender = RtpSender(ssrc=1, payload_type=96, sequence=rng.randrange(65_536))
    unit = packetize(codec, UNITS[codec], largest=rng.randrange(5, 1500))
    return b"".join(b"".join(sender.frames(unit, number * 3600)) for number in range(rng.randrange(1, 4)))


def _hold(size: int, bound: int) -> None:
    if size > bound:
        raise HeldTooMuch(f"{size} bytes where {bound} are allowed")


TARGETS: tuple[Callable[[random.Random], None], ...] = (fuzz_framing, fuzz_session, fuzz_reader, fuzz_parsers)


def run(seed: int, *, executions: int | None = None, seconds: float = float("inf")) -> int:
    """How many executions went well; one that does not raises, with its seed noted."""
    until, done = time.monotonic() + seconds, 0
    while (executions is None or done < executions) and time.monotonic() < until:
        target = TARGETS[done % len(TARGETS)]
        begun = time.process_time()
        try:
            target(random.Random(f"{seed}:{done}"))
            if time.process_time() - begun > MOST_SECONDS:
                raise TookTooLong(f"{time.process_time() - begun:.1f} s")
        except Exception as error:
            error.add_note(f"{target.__name__} with seed {seed}:{done}")
            raise
        done += 1
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    done = run(given.seed, seconds=given.minutes * 60)
    print(f"{done:,} executions from seed {given.seed}, nothing but our own errors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
