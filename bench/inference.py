"""Real models on one thread: the two libraries that run ONNX, and several pictures at once.

    python -m bench.inference [FOLDER]      of models; else those that `scripts/material` fetched

What is compared takes turns picture by picture, or batch by batch, on pictures of the real clip; figures are processor
time of the whole process, so that others on this machine do not count. Models that take one picture at a time, whatever
is done, are told as such.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import av
import numpy as np
from av.video.reformatter import VideoReformatter
from numpy.typing import NDArray

from streamward.drivers.decoder import DecodedFrame
from streamward.drivers.detectors.loading import load_detector
from streamward.model.runtime import ModelRuntime
from streamward.protocol.shards import ModelsAt
from streamward.vision.detector import shown_size
from tests.support.material import FOLDER, MODELS

PICTURES = 12
PASSES = 3
BATCHES = (1, 2, 4, 8)
HEIGHT, WIDTH = 384, 640  # of what models that take any size are shown

_BATCHES = "--batches"

Run = Callable[[], object]


def main(folder: Path = MODELS) -> int:
    """Prints figures and ratios."""
    if not (FOLDER / "vtest.avi").exists() or not any(folder.glob("*.*")):
        print("the real clip or the models are missing: scripts/material fetches them", file=sys.stderr)
        return 1
    for file in sorted(folder.glob("*.onnx")):
        _compare_runtimes(file)
    for file in sorted((*folder.glob("*.onnx"), *folder.glob("*.tflite"))):
        command = [sys.executable, "-m", "bench.inference", _BATCHES, str(file)]
        code = subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode
        if code < 0:
            print(f"{file.stem}: one picture at a time (who shows it more is ended by signal {-code})", flush=True)
    return 0


def batches(file: Path) -> int:
    """In a process that may die of it: not every model that is given more pictures looks how many there are."""
    for name, batch in (_onnx_batches if file.suffix == ".onnx" else _litert_batches)(file).items():
        _compare_batches(f"{file.stem} on {name}", batch)
    return 0


def _compare_runtimes(file: Path) -> None:
    """The whole way from picture to detections, and whether both see the same."""
    detectors = [load_detector(file.stem, ModelsAt(folder=str(file.parent), runtime=each)) for each in ModelRuntime]
    spent: dict[ModelRuntime, list[float]] = {each: [] for each in ModelRuntime}
    furthest, found, unmatched = 0.0, 0, 0
    for frame in _frames():
        image = frame.fitted(shown_size(detectors[0], frame.size))
        seen = []
        for runtime, detector in zip(ModelRuntime, detectors, strict=True):
            seen.append(list(detector.detect(image)))
            spent[runtime] += [_spent(partial(detector.detect, image)) for _ in range(PASSES)]
        found += len(seen[0])
        unmatched += abs(len(seen[0]) - len(seen[1]))
        for one, other in zip(*seen, strict=False):
            ones, others = ((each.box.x1, each.box.y1, each.box.x2, each.box.y2) for each in (one, other))
            furthest = max(furthest, *(abs(a - b) for a, b in zip(ones, others, strict=True)))
    ours, theirs = (median(spent[each]) * 1e3 for each in ModelRuntime)
    print(
        f"{file.stem}: onnxruntime {ours:.1f} ms, openvino {theirs:.1f} ms a picture, {theirs / ours:.2f} ×; "
        f"{found} things, {unmatched} more or fewer, boxes at most {furthest:.2f} pixels apart",
        flush=True,
    )


def _compare_batches(name: str, batch: Callable[[int], Run]) -> None:
    try:
        runs = {size: batch(size) for size in BATCHES}
        for run in runs.values():
            run()
    except Exception as error:  # noqa: BLE001 - each library has errors of its own
        print(f"{name}: one picture at a time ({type(error).__name__})", flush=True)
        return
    spent: dict[int, list[float]] = {size: [] for size in BATCHES}
    for _ in range(PASSES):
        for size, run in runs.items():
            spent[size] += [_spent(run) / size for _ in range(max(BATCHES) // size)]
    alone = median(spent[1])
    shown = ", ".join(f"{size}: {median(each) / alone:.2f} ×" for size, each in spent.items())
    print(f"{name}: {alone * 1e3:.1f} ms a picture alone; of so many at once {shown}", flush=True)


def _onnx_batches(file: Path) -> Mapping[str, Callable[[int], Run]]:
    from streamward.drivers.detectors.onnx_session import OnnxRuntimeSession  # noqa: PLC0415 - they are extras
    from streamward.drivers.detectors.openvino_session import OpenVinoSession  # noqa: PLC0415

    content = file.read_bytes()
    sessions = {"onnxruntime": OnnxRuntimeSession(content), "openvino": OpenVinoSession(content)}

    def batch(session: Any, size: int) -> Run:
        sides = session.inputs[0].shape[2:]
        down, across = sides if all(isinstance(side, int) for side in sides) else (HEIGHT, WIDTH)
        given = _batch(size, down, across).transpose(0, 3, 1, 2).astype(np.float32) / 255
        given = np.ascontiguousarray(given)
        return partial(session.run, given)

    return {name: partial(batch, session) for name, session in sessions.items()}


def _litert_batches(file: Path) -> Mapping[str, Callable[[int], Run]]:
    from ai_edge_litert.interpreter import Interpreter  # noqa: PLC0415 - an extra

    def batch(size: int) -> Run:
        interpreter = Interpreter(model_path=str(file), num_threads=1)
        given = interpreter.get_input_details()[0]
        _, down, across, colours = given["shape"]
        interpreter.resize_tensor_input(given["index"], (size, down, across, colours))
        interpreter.allocate_tensors()
        interpreter.set_tensor(given["index"], _batch(size, down, across).astype(given["dtype"]))
        return partial(interpreter.invoke)

    return {"litert": batch}


def _batch(size: int, down: int, across: int) -> NDArray[np.uint8]:
    with av.open(str(FOLDER / "vtest.avi")) as clip:
        pictures = [
            each.reformat(width=int(across), height=int(down), format="rgb24").to_ndarray()
            for each in islice(clip.decode(video=0), size)
        ]
    return np.stack(pictures)


def _frames() -> list[DecodedFrame]:
    with av.open(str(FOLDER / "vtest.avi")) as clip:
        return [DecodedFrame(each, VideoReformatter()) for each in islice(clip.decode(video=0), 0, PICTURES * 10, 10)]


def _spent(run: Run) -> float:
    began = time.process_time()
    run()
    return time.process_time() - began


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(batches(Path(given[1])) if given[:1] == [_BATCHES] else main(*map(Path, given[:1])))
