"""What a camera costs in RTP, on either side: 720p25 at 2 Mbit/s, H.264, interleaved on TCP, without the socket.

Made-up pictures of the sizes that such a camera sends (a keyframe each second): nothing here looks into them.
"""

import sys
import time
from collections.abc import Callable

from streamward.model.video import VideoCodec
from streamward.protocol.rtp.nal import join
from streamward.protocol.rtp.reader import AccessUnit, ReaderSpec, RtpReader
from streamward.protocol.rtp.writer import RtpSender, packetize
from streamward.protocol.rtsp.framing import Interleaved, StreamDecoder

FPS = 25
KEYFRAME = 40_000  # bytes
PICTURE = 8_750  # bytes: with the keyframe 250,000 a second
CAMERAS = 200
SECONDS = 20  # of stream
PASSES = 5
READS = (65_536, 8_192, 1_460)  # bytes: a busy loop's read, an idle one's, one segment
PARAMETERS = (
    bytes.fromhex("6742c01fda014016e9b808080a000007d00001d4c1c0000003004000000c83c60ca8"),
    bytes.fromhex("68ce3c80"),
)


def main() -> int:
    """Prints each figure beside the goal that it is held to."""
    units = [_unit(number) for number in range(FPS)]
    stream, packets = _stream(units)
    for size in READS:
        cost = _least(lambda size=size: _read(stream, size))  # type: ignore[misc]
        each = cost / packets
        share = cost / SECONDS
        _tell(
            f"reading in {size:,} bytes",
            f"{1 / each:,.0f} packets/s, {each * 1e6:.2f} µs each, {share:.3%} of a core per camera",
            "≤ 0.09 %",
        )
    cut = _least(lambda: [packetize(VideoCodec.H264, unit) for unit in units])
    _tell("cutting one second of pictures, once for all", f"{cut * 1e3:.2f} ms ({cut:.3%} of a core)", "-")
    for name, clients in (("one client each", 1), ("three clients each", 3)):
        cost = _least(lambda clients=clients: _serve(units, clients))  # type: ignore[misc]
        _tell(f"sending {CAMERAS} cameras, {name}", f"{cost:.1%} of a core", "room for the sockets")
    return 0


def _unit(number: int) -> bytes:
    if number == 0:
        return join([*PARAMETERS, b"\x65\x88" + b"\xa5" * KEYFRAME])
    return join([b"\x41\x9a" + b"\xa5" * PICTURE])


def _stream(units: list[bytes]) -> tuple[bytes, int]:
    """One camera's bytes, and how many packets they are."""
    sender = RtpSender(ssrc=1, payload_type=96, sequence=0)
    cut = [packetize(VideoCodec.H264, unit) for unit in units]
    written = [b"".join(sender.frames(cut[n % FPS], n * 3600)) for n in range(FPS * SECONDS)]
    return b"".join(written), sender.packets


def _read(stream: bytes, size: int) -> None:
    """From bytes to access units, as a camera client does."""
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    decoder, reader = StreamDecoder(resync=(0, 1)), RtpReader(ReaderSpec(codec=VideoCodec.H264, payload_type=96))
    whole = 0
    for chunk in chunks:
        for unit in decoder.feed(chunk):
            if isinstance(unit, Interleaved) and unit.channel == 0:
                whole += sum(type(found) is AccessUnit for found in reader.receive(unit.payload))
    assert whole == FPS * SECONDS


def _serve(units: list[bytes], clients: int) -> None:
    """One second of every camera for every client; the pictures are a clip that was cut before, each with a message."""
    cut = [packetize(VideoCodec.H264, unit) for unit in units]
    senders = [RtpSender(ssrc=n, payload_type=96, sequence=0) for n in range(CAMERAS * clients)]
    message = b"\x06\x05\x20" + bytes(32) + b"\x80"
    for number, unit in enumerate(cut):
        for camera in range(CAMERAS):
            told = unit.with_message(message)
            for sender in senders[camera * clients : (camera + 1) * clients]:
                b"".join(sender.frames(told, number * 3600))  # what a transport without gathering writes does


def _least(work: Callable[[], object]) -> float:
    """Seconds of processor time, the least of several passes: the others were disturbed."""
    costs = []
    for _ in range(PASSES):
        begun = time.process_time()
        work()
        costs.append(time.process_time() - begun)
    return min(costs)


def _tell(what: str, figure: str, goal: str) -> None:
    print(f"{what:<46}{figure:<70}goal {goal}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
