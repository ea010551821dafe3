"""Decoding without the loop filter: what it saves, and what it costs in exactness.

The same pictures are decoded in turn with the filter and without: the real clip (`scripts/material`), encoded as
cameras do it, with a keyframe every two seconds, and a simulated scene. Processor time is that of the decoding thread
alone, the least of several passes.
How far pictures are off is told as PSNR, and by what a detector finds in them: how many of the boxes that it finds in
fully decoded pictures it finds in these as well, with the same label and an IoU of at least a half.
"""

import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any

import av
import numpy as np
from av.video.frame import PictureType

from streamward.drivers.decoder import DecodedFrame, Decoder
from streamward.drivers.detectors.colour import ColourDetector
from streamward.drivers.detectors.loading import load_detector
from streamward.model.video import SkipLoopFilter, VideoCodec
from streamward.nvr.drawing import Canvas
from streamward.nvr.scene import Picture, make_scene
from streamward.protocol.shards import ModelsAt
from streamward.vision.detections import Detections
from streamward.vision.detector import Detector, enlarged, least_sure, shown_size
from streamward.vision.sight import believed
from tests.support.material import FOLDER, MODELS

MODEL = "efficientdet-lite0"
PICTURES = 160
LOOK_AT = 4  # every so many pictures
PASSES = 7
SHAPES = ((768, 576, 500_000), (768, 576, 1_500_000), (1920, 1080, 4_000_000))  # width, height, bits a second
SAME = 0.5  # IoU


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """What is decoded, and what looks at it."""

    name: str
    units: list[tuple[bytes, bool]]  # access units, and which are keyframes
    detector: Detector
    label: str  # that is counted


def main() -> int:
    """Prints for each material what each choice saves and costs."""
    for material in _materials():
        cost = _costs(material)
        full = list(_decoded(material, SkipLoopFilter.NONE))
        truth = [_found(material.detector, frame) for frame in full[::LOOK_AT]]
        for skip in (SkipLoopFilter.NONREF, SkipLoopFilter.ALL):
            less = list(_decoded(material, skip))
            seen = [_found(material.detector, frame) for frame in less[::LOOK_AT]]
            print(
                f"{material.name}, {skip}: {cost[skip] / cost[SkipLoopFilter.NONE]:.2f} × the processor time",
                flush=True,
            )
            print(f"  {_psnr(full, less)}; {_agreement(truth, seen, material.label)}", flush=True)
    return 0


def _materials() -> Iterator[Material]:
    clip = FOLDER / "vtest.avi"
    if clip.exists() and any(MODELS.glob(f"{MODEL}.*")):
        detector = load_detector(MODEL, ModelsAt(folder=str(MODELS)))
        for width, height, rate in SHAPES:
            with av.open(str(clip)) as film:
                shown = (each.reformat(width=width, height=height) for each in islice(film.decode(video=0), PICTURES))
                units = list(_encoded(shown, rate=rate, fps=10))
            name = f"real clip, {width}x{height}, {rate / 1e6:g} Mbit/s"
            yield Material(name=name, units=units, detector=detector, label="person")
    else:
        print("the real clip or the model is missing: scripts/material fetches them", file=sys.stderr)
    scene = make_scene(1, Picture(width=1280, height=720, fps=25, loop=PICTURES))
    drawn = (av.VideoFrame.from_ndarray(Canvas(scene).draw(number), format="rgb24") for number in range(PICTURES))
    units = list(_encoded(drawn, rate=2_000_000, fps=25))
    yield Material(name="simulated scene, 1280x720, 2 Mbit/s", units=units, detector=ColourDetector(), label="person")


def _encoded(frames: Iterable[av.VideoFrame], *, rate: int, fps: int) -> Iterator[tuple[bytes, bool]]:
    """As a camera sends them; the fastest preset, which our simulated cameras use, has no loop filter at all."""
    encoder: Any = av.CodecContext.create("libx264", "w")
    encoder.framerate, encoder.time_base, encoder.pix_fmt = Fraction(fps), Fraction(1, fps), "yuv420p"
    encoder.bit_rate, encoder.gop_size, encoder.max_b_frames = rate, 2 * fps, 0
    encoder.options = {"preset": "veryfast", "tune": "zerolatency", "x264-params": "scenecut=0:repeat-headers=1"}
    for number, frame in enumerate(frames):
        if number == 0:
            encoder.width, encoder.height = frame.width, frame.height
        shown = frame.reformat(format="yuv420p")
        shown.pts, shown.time_base, shown.pict_type = number, encoder.time_base, PictureType.NONE
        yield from ((bytes(packet), packet.is_keyframe) for packet in encoder.encode(shown))
    yield from ((bytes(packet), packet.is_keyframe) for packet in encoder.encode(None))


def _decoded(material: Material, skip: SkipLoopFilter) -> Iterator[DecodedFrame]:
    decoder = Decoder(VideoCodec.H264, skip=skip)
    for content, is_keyframe in material.units:
        yield from decoder.decode(content, is_keyframe=is_keyframe)


def _costs(material: Material) -> dict[SkipLoopFilter, float]:
    """Seconds of processor time, the least of passes in turn."""
    took: dict[SkipLoopFilter, list[float]] = {skip: [] for skip in SkipLoopFilter}
    for number in range(PASSES):
        for skip in SkipLoopFilter if number % 2 else reversed(SkipLoopFilter):
            began = time.thread_time()
            for _ in _decoded(material, skip):
                pass
            took[skip].append(time.thread_time() - began)
    return {skip: min(each) for skip, each in took.items()}


def _found(detector: Detector, frame: DecodedFrame) -> Detections:
    size = shown_size(detector, frame.size)
    found = believed(detector.detect(frame.fitted(size)), least_sure(detector))
    return enlarged(found, shown=size, sent=frame.size)


def _psnr(full: list[DecodedFrame], less: list[DecodedFrame]) -> str:
    """How far pictures are off, over all channels: on the whole, and the worst of them."""
    errors = []
    for one, other in zip(full, less, strict=True):
        off = one.fitted(one.size).astype(np.int16) - other.fitted(other.size)
        errors.append(float(np.square(off, dtype=np.int32).mean()))
    return f"PSNR {_decibels(statistics.fmean(errors))}, the worst picture {_decibels(max(errors))}"


def _decibels(error: float) -> str:
    return f"{10 * np.log10(255**2 / error):.1f} dB" if error else "without bound: the same pixels"


def _agreement(truth: list[Detections], seen: list[Detections], label: str) -> str:
    both = sum(_matched(one, other) for one, other in zip(truth, seen, strict=True))
    before, after = sum(map(len, truth)), sum(map(len, seen))
    people = [sum(each.label == label for found in all_ for each in found) / len(all_) for all_ in (truth, seen)]
    return (
        f"{both} of {before} boxes found again ({both / max(1, before):.1%}), {after - both} others, "
        f"{label}s a picture {people[1]:.2f} instead of {people[0]:.2f}"
    )


def _matched(truth: Detections, seen: Detections) -> int:
    """How many boxes of one picture are in the other as well; each is taken once."""
    left, count = list(seen), 0
    for each in truth:
        near = [other for other in left if other.label == each.label and each.box.overlap(other.box) >= SAME]
        if near:
            left.remove(max(near, key=lambda other: each.box.overlap(other.box)))
            count += 1
    return count


if __name__ == "__main__":
    sys.exit(main())
