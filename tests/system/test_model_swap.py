"""A model is replaced in a Worker that runs: signed by command, taken up between two frames, refused if it is bad."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from typing import Any

import pytest

from streamward.drivers.detectors.bundle import public_key_in
from streamward.model.bus import Bus
from streamward.protocol import codec
from streamward.protocol.events import BATCHER, DetectionEvent
from tests.support.bundles import STRANGER, a_bundle, finds
from tests.support.labs import Plant, bus_of, plant, until
from tests.support.processes import run


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    pytest.importorskip("onnxruntime")
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "2", "--fps", "2") as made:
        yield made


@pytest.fixture(scope="module")
def maker(lab: Plant) -> "Maker":
    return Maker(lab)


class Maker:
    """Whoever makes models, with a key of their own."""

    def __init__(self, lab: Plant) -> None:
        self._lab = lab
        self._folder = lab.data.parent / "maker"
        self._folder.mkdir()
        self.public = self._folder / "key.pub"
        self.command("new-key", str(self._folder / "key"))

    def command(self, *args: str) -> str:
        done = run("models", *args, data=self._lab.data, MODELS_KEY=self.public)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def publish(self, name: str, label: str, version: int) -> None:
        model, bundle = self._folder / f"{label}.onnx", self._folder / f"{name}.bundle"
        model.write_bytes(finds(label))
        key = ("--key", str(self._folder / "key"))
        self.command("sign", str(model), *key, "--name", name, "--version", str(version), "--output", str(bundle))
        assert name in self.command("verify", str(bundle))
        self.command("install", str(bundle))


class Looked:
    """What each camera's events say was seen, by their frames."""

    def __init__(self, bus: Bus) -> None:
        self._consumer = bus.consume(BATCHER.name, prefetch=500)
        self.by_camera: dict[str, dict[int, str]] = {}

    async def until(self, *cameras: str, label: str, times: int = 3) -> None:
        """Until each of them was seen with that label so often."""
        async with asyncio.timeout(120):
            while any(self.labels(camera).count(label) < times for camera in cameras):
                some = await self._consumer.take(at_most=100, within=1.0)
                await self._consumer.ack(some)
                for event in (codec.decode(each.message.body, DetectionEvent) for each in some):
                    assert len(event.detections) == 1  # whichever of them looked
                    self.by_camera.setdefault(event.camera_uuid, {})[event.frame_id] = event.detections[0].label

    def labels(self, camera: str) -> list[str]:
        """In the order of its frames."""
        seen = self.by_camera.get(camera, {})
        return [seen[frame] for frame in sorted(seen)]

    def lost_at_turn(self, camera: str, *, before: str, after: str) -> int:
        """Frames between the last of one label and the first of another that nobody looked at."""
        seen = self.by_camera[camera]
        last = max(frame for frame, label in seen.items() if label == before)
        return min(frame for frame, label in seen.items() if label == after) - last - 1

    async def close(self) -> None:
        await self._consumer.close()


@contextlib.asynccontextmanager
async def looking(lab: Plant) -> AsyncIterator[Looked]:
    async with bus_of(lab) as bus:
        looked = Looked(bus)
        yield looked
        await looked.close()


def config(lab: Plant, maker: Maker, detector: str) -> dict[str, Any]:
    """Each picture of each camera is looked at."""
    models = {"folder": str(lab.data / "models"), "key": public_key_in(maker.public)}
    return lab.config(detector=detector, models=models, max_fps=240)


async def test_a_newer_model_is_taken_up_between_two_frames_and_a_bad_one_refused(lab: Plant, maker: Maker) -> None:
    maker.publish("yard", "dog", 1)
    camera = lab.cameras[0]
    async with looking(lab) as looked:
        with lab.worker(config(lab, maker, "yard")) as worker:
            await looked.until(camera, label="dog")
            maker.publish("yard", "cat", 2)
            await looked.until(camera, label="cat")
            seen = looked.labels(camera)
            turn = seen.index("cat")
            assert (set(seen[:turn]), set(seen[turn:])) == ({"dog"}, {"cat"})
            assert worker.metric("model_swaps_total", result="used") == 1
            forged = lab.data / "models" / "forged"
            forged.write_bytes(a_bundle(finds("fox"), version=3, key=STRANGER))
            forged.replace(lab.data / "models" / "yard.bundle")
            until(lambda: worker.metric("model_swaps_total", result="refused") == 1)
            await looked.until(camera, label="cat", times=len(looked.labels(camera)) - turn + 3)
            assert set(looked.labels(camera)[turn:]) == {"cat"}
            assert "its signature is not that of the key" in worker.log


async def lost_by_swap(lab: Plant, maker: Maker, looked: Looked) -> dict[str, int]:
    """Frames of each camera; a machine that stands still for half a second loses some too, so the best counts."""
    names, lost = ["ant", "bee", "cod", "doe"], dict[str, int]()
    await looked.until(*lab.cameras, label=names[0])
    for version, (before, after) in enumerate(pairwise(names), start=2):
        maker.publish("barn", after, version)
        await looked.until(*lab.cameras, label=after)
        lost = {camera: looked.lost_at_turn(camera, before=before, after=after) for camera in lab.cameras}
        if not any(lost.values()):
            break
    return lost


async def test_every_frame_of_every_camera_is_looked_at_by_the_old_or_the_new_model(lab: Plant, maker: Maker) -> None:
    maker.publish("barn", "ant", 1)
    async with looking(lab) as looked:
        with lab.worker(config(lab, maker, "barn")):
            assert set((await lost_by_swap(lab, maker, looked)).values()) == {0}
