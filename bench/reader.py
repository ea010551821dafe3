"""One way to follow cameras, in a process of its own: `python -m bench.reader <way> <seconds> <url>…`.

Each way decodes every picture and scales `MAX_FPS` of each second to `SIZE`, red, green and blue; nobody looks at them.
What it cost is counted from when every camera has shown something, and printed as JSON.

    ours        our RTSP client, our pipeline and its threads
    threaded    the same with a decoding thread for each camera
    sampled     the same, but what no scaled picture refers to is not decoded
    adaptive    the same, but of a still scene only keyframes are decoded
    pyav        the plain loop: one thread for each camera, `container.decode`
    opencv      the plain loop: one thread for each camera, `VideoCapture.grab`, `retrieve` for what is scaled
    reading     our RTSP client without a decoder
    demuxing    the plain loop of PyAV without a decoder
"""

import asyncio
import json
import os
import resource
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av

from streamward.drivers import camera
from streamward.drivers.addresses import CameraAddress, HostLimits
from streamward.drivers.decoder import Decoder, decoder_for
from streamward.drivers.movement import PictureComparer
from streamward.drivers.rounds import Rounds
from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.ids import CameraId
from streamward.model.source_url import parse
from streamward.model.video import DecodeMode, VideoCodec
from streamward.model.zone import Zone
from streamward.runner.looking import Looking
from streamward.runner.pipeline import Pipeline
from streamward.runtime.clock import SystemClock
from streamward.vision.detections import NOTHING, Detections
from streamward.vision.detector import Size
from streamward.vision.lane import ArrivedUnit
from streamward.vision.sampling import READ_EVERY, Sampler
from streamward.vision.watchdog import Seen, ShownFrame, StatusUpdate
from streamward.vision.zones import Zones

MAX_FPS = 6.0
SIZE = Size(320, 180)
READY_WITHIN = 60.0  # seconds
SETTLES_WITHIN = 20.0  # seconds
_MODES = {
    "ours": DecodeMode.ALL,
    "threaded": DecodeMode.ALL,
    "sampled": DecodeMode.SAMPLED,
    "adaptive": DecodeMode.ADAPTIVE,
}
_BELOW_THE_CLOCK = Zones((Zone(name="clock", corners=((0, 0), (1, 0), (1, 0.1), (0, 0.1)), leaves_out=True),))
_OPTIONS = {"rtsp_transport": "tcp"}
_HERE = AddressPolicy(allow=(parse_network("127.0.0.0/8"),))


@dataclass
class Tally:
    """What came of each camera."""

    frames: Counter[str] = field(default_factory=Counter)  # pictures, decoded or not
    looked: Counter[str] = field(default_factory=Counter)  # pictures that were scaled
    trouble: Counter[str] = field(default_factory=Counter)
    memory: int = 0  # kilobytes before the first camera


class Blind:
    """Sees nothing: what it would cost is not the question."""

    size = SIZE
    keeps_shape = False

    def detect(self, _image: Any) -> Detections:
        return NOTHING


class Follower:
    """Hears all that our pipeline tells, and each connection."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally

    def on_frame_decoded(self, camera_id: CameraId, _arrived_at: float) -> None:
        self._tally.frames[camera_id] += 1

    def on_model_inference_started(self, _shown: ShownFrame) -> None: ...

    def on_model_prediction_ready(self, seen: Seen) -> None:
        self._tally.looked[seen.camera_id] += 1

    def on_status_update(self, update: StatusUpdate) -> None:
        self._tally.trouble[str(update.what)] += 1


@dataclass
class Line:
    """One of our connections, into the pipeline or only counted."""

    camera_id: CameraId
    pipeline: Pipeline | None
    tally: Tally

    def playing(self, codec: VideoCodec | None) -> None:
        if self.pipeline is not None:
            self.pipeline.restart(self.camera_id, decoder_for(codec))

    def unit(self, unit: ArrivedUnit) -> None:
        if self.pipeline is None:
            self.tally.frames[self.camera_id] += 1
        else:
            self.pipeline.offer(self.camera_id, unit)

    def trouble(self, failure: Any) -> None:
        self.tally.trouble[str(failure.code)] += 1


def main(way: str, seconds: str, *urls: str) -> None:
    """Follows these cameras in that way, and prints what that cost."""
    tally = Tally()
    if way == "opencv":
        import cv2  # noqa: F401, PLC0415 - the others do without it
    tally.memory = _memory()
    if way in {*_MODES, "reading"}:
        cost = asyncio.run(_ours(urls, tally, float(seconds), way))
    else:
        loops = {"pyav": _pyav, "opencv": _opencv, "demuxing": _demuxing}
        for url in urls:
            threading.Thread(target=loops[way], args=(url, tally), daemon=True).start()
        cost = _measured(urls, tally, float(seconds))
    print(json.dumps({**cost, "trouble": tally.trouble}), flush=True)
    os._exit(0)  # the plain loops know no end


async def _ours(urls: tuple[str, ...], tally: Tally, seconds: float, way: str) -> dict[str, Any]:
    clock, mode = SystemClock(), _MODES.get(way)
    pipeline = None if mode is None else _pipeline(urls, tally, mode, threads=len(urls) if way == "threaded" else None)
    rounds = Rounds(every=READ_EVERY)
    watching = [
        asyncio.create_task(
            camera.watch(
                CameraAddress(url=parse(url).url, credential=None, addresses=_HERE, limits=HostLimits(addresses=_HERE)),
                Line(CameraId(url), pipeline, tally),
                clock=clock,
                rounds=rounds,
            )
        )
        for url in urls
    ]
    settles = SETTLES_WITHIN if mode is DecodeMode.ADAPTIVE else 0.0
    cost = await asyncio.to_thread(_measured, urls, tally, seconds, settles=settles)
    for task in watching:
        task.cancel()
    await asyncio.wait(watching)
    if pipeline is not None:
        await pipeline.close()
    return cost


def _pipeline(urls: tuple[str, ...], tally: Tally, mode: DecodeMode, *, threads: int | None) -> Pipeline:
    pipeline = Pipeline(Follower(tally), clock=SystemClock(), threads=threads)
    for url in urls:
        sampler = Sampler(max_fps=MAX_FPS)
        pipeline.add(CameraId(url), Decoder(VideoCodec.H264), _looking(sampler, mode))
    return pipeline


def _looking(sampler: Sampler, mode: DecodeMode) -> Looking:
    return Looking(sampler=sampler, detector=Blind(), zones=_BELOW_THE_CLOCK, mode=mode, compare=PictureComparer)


def _pyav(url: str, tally: Tally) -> None:
    with av.open(url, options=_OPTIONS, timeout=10.0) as container:
        container.streams.video[0].codec_context.thread_count = 1
        sampler = Sampler(max_fps=MAX_FPS)
        for frame in container.decode(video=0):
            tally.frames[url] += 1
            sampler, is_wanted = sampler.admit(time.monotonic())
            if is_wanted:
                frame.reformat(width=SIZE.width, height=SIZE.height, format="rgb24").to_ndarray()
                tally.looked[url] += 1


def _demuxing(url: str, tally: Tally) -> None:
    with av.open(url, options=_OPTIONS, timeout=10.0) as container:
        for packet in container.demux(video=0):
            tally.frames[url] += bool(packet.size)


def _opencv(url: str, tally: Tally) -> None:
    import cv2  # noqa: PLC0415 - the others do without it

    capture = cv2.VideoCapture(url, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    sampler = Sampler(max_fps=MAX_FPS)
    while capture.grab():
        tally.frames[url] += 1
        sampler, is_wanted = sampler.admit(time.monotonic())
        if is_wanted:
            _, image = capture.retrieve()
            cv2.cvtColor(cv2.resize(image, (SIZE.width, SIZE.height)), cv2.COLOR_BGR2RGB)
            tally.looked[url] += 1
    tally.trouble["ended"] += 1


def _measured(urls: tuple[str, ...], tally: Tally, seconds: float, *, settles: float = 0.0) -> dict[str, Any]:
    """Processor time and pictures from when every camera shows something, and has come to rest."""
    began = time.monotonic()
    while min(tally.frames[url] for url in urls) < 2 and time.monotonic() - began < READY_WITHIN:
        time.sleep(0.1)
    ready = time.monotonic() - began
    time.sleep(settles)
    frames, looked, used, at = tally.frames.copy(), tally.looked.copy(), _used(), time.monotonic()
    time.sleep(seconds)
    took = time.monotonic() - at
    return {
        "ready_s": ready,
        "seconds": took,
        "cpu_s": _used() - used,
        "memory": _memory() - tally.memory,
        "frames": [tally.frames[url] - frames[url] for url in urls],
        "looked": [tally.looked[url] - looked[url] for url in urls],
    }


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _memory() -> int:
    """Kilobytes that are this process's own."""
    rollup = Path("/proc/self/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_"))


if __name__ == "__main__":
    main(*sys.argv[1:])
