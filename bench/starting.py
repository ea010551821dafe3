"""From a warm fork server to the first thing that a real model sees, and what a Worker with it takes up.

    python -m bench.starting [FOLDER]      of models; else those that `scripts/material` fetched

The fork server is the one of a runner, with what a Worker imports. A Worker is asked for, loads a model and shows it a
picture; the library's import and the model's load (a first look included, by which it is judged) are measured there and
taken off. Memory is that of the same process after the look: what is resident, and its fair share of what is shared.
"""

import asyncio
import importlib
import json
import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from streamward.drivers.detectors.loading import load_detector
from streamward.model.runtime import ModelRuntime
from streamward.protocol.shards import ModelsAt
from streamward.protocol.spawning import Exited
from streamward.runner.spawner import ForkSpec, Spawner
from streamward.runtime import process_tree
from streamward.runtime.blame import Board
from streamward.vision.detector import Size, shown_size
from tests.support.material import MODELS

PRELOADED = ("streamward.runner.born", "streamward.drivers.bus", "streamward.drivers.amqp")
LIBRARIES = {
    (".tflite", ModelRuntime.ONNXRUNTIME): "ai_edge_litert.interpreter",
    (".onnx", ModelRuntime.ONNXRUNTIME): "streamward.drivers.detectors.onnx_session",
    (".onnx", ModelRuntime.OPENVINO): "streamward.drivers.detectors.openvino_session",
}
PASSES = 5
SENT = Size(1280, 720)
LONGEST = 4096  # bytes of what is asked or told
GOAL_MS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One of them; times in milliseconds, memory in MiB."""

    whole: float
    imported: float
    loaded: float
    looked: float
    resident: float
    shared_fairly: float

    @property
    def rest(self) -> float:
        return self.whole - self.imported - self.loaded


def live(channel: socket.socket, _board: Board) -> int:
    """In the Worker."""
    library, name, folder, runtime = json.loads(channel.recv(LONGEST))
    began = time.perf_counter()
    importlib.import_module(library)
    imported = time.perf_counter()
    detector = load_detector(name, ModelsAt(folder=folder, runtime=ModelRuntime(runtime)))
    loaded = time.perf_counter()
    size = shown_size(detector, SENT)
    detector.detect(np.full((size.height, size.width, 3), 127, np.uint8))
    looked = time.perf_counter()
    took = {"imported": imported - began, "loaded": loaded - imported, "looked": looked - loaded}
    channel.send(json.dumps({key: value * 1e3 for key, value in took.items()}).encode())
    channel.recv(1)  # until its memory was read
    return 0


def main(folder: Path = MODELS) -> int:
    """Prints a line for each model."""
    files = sorted(folder.glob("*.*"))
    if not files:
        print("the models are missing: scripts/material fetches them", file=sys.stderr)
        return 1
    asyncio.run(measure(files))
    return 0


async def measure(files: list[Path]) -> None:
    """Each model in turn, several times."""
    others: set[int] = set(process_tree.children())
    ends: asyncio.Queue[Exited] = asyncio.Queue()
    spec = ForkSpec(entry="bench.starting:live", preload=PRELOADED)
    spawner = Spawner(spec, on_exit=ends.put_nowait, on_lost=lambda: None, others=lambda: others)
    await spawner.start()
    wanted = [(file, *each) for file in files for each in LIBRARIES.items() if file.suffix in each[0]]
    starts: dict[str, list[Start]] = {}
    for _ in range(PASSES):
        for file, (_, runtime), library in wanted:
            asked = [library, file.stem, str(file.parent), runtime]
            name = f"{file.stem} by {'litert' if file.suffix == '.tflite' else runtime}"
            starts.setdefault(name, []).append(await _started(spawner, ends, json.dumps(asked).encode()))
    await spawner.close()
    print(f"from a warm fork server to the first look, medians of {PASSES}; load average {os.getloadavg()[0]:.1f}")
    for name, each in starts.items():
        print(_told(name, each), flush=True)


async def _started(spawner: Spawner, ends: "asyncio.Queue[Exited]", asked: bytes) -> Start:
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    worker = await spawner.spawn(2)
    worker.channel.setblocking(False)
    await loop.sock_sendall(worker.channel, asked)
    told: dict[str, Any] = json.loads(await loop.sock_recv(worker.channel, LONGEST))
    whole = (time.perf_counter() - began) * 1e3
    memory = _memory(worker.pid)
    worker.channel.close()
    worker.board.close()
    await ends.get()
    return Start(whole=whole, **told, resident=memory["Rss"], shared_fairly=memory["Pss"])


def _memory(pid: int) -> dict[str, float]:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    return {line.partition(":")[0]: int(line.split()[1]) / 1024 for line in lines}


def _told(name: str, starts: list[Start]) -> str:
    def middle(what: str) -> float:
        return float(median(getattr(each, what) for each in starts))

    return (
        f"  {name}: {middle('whole'):.0f} ms, of it import {middle('imported'):.0f}, load {middle('loaded'):.0f}, "
        f"the rest {middle('rest'):.0f} (goal ≤ {GOAL_MS}; the look {middle('looked'):.0f}); "
        f"{middle('resident'):.0f} MiB resident, {middle('shared_fairly'):.0f} MiB its share"
    )


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:2])))
