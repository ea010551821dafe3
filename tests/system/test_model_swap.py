"""A model is replaced in a Worker that runs: signed by command, taken up between two frames, refused if it is bad."""

import asyncio
from collections.abc import Callable, Iterator

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
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "1", "--width", "320", "--height", "192") as made:
        yield made


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

    def publish(self, label: str, version: int) -> None:
        model, bundle = self._folder / f"{label}.onnx", self._folder / "yard.bundle"
        model.write_bytes(finds(label))
        key = ("--key", str(self._folder / "key"))
        self.command("sign", str(model), *key, "--name", "yard", "--version", str(version), "--output", str(bundle))
        assert "yard" in self.command("verify", str(bundle))
        self.command("install", str(bundle))


async def labels(bus: Bus, is_enough: Callable[[list[str]], bool]) -> list[str]:
    """What each event says was seen, in the order of its frames, until that is enough."""
    consumer, events = bus.consume(BATCHER.name, prefetch=500), dict[int, str]()
    async with asyncio.timeout(120):
        while not is_enough([events[frame] for frame in sorted(events)]):
            some = await consumer.take(at_most=100, within=1.0)
            await consumer.ack(some)
            for event in (codec.decode(each.message.body, DetectionEvent) for each in some):
                assert len(event.detections) == 1  # whichever of them looked
                events[event.frame_id] = event.detections[0].label
    await consumer.close()
    return [events[frame] for frame in sorted(events)]


async def test_a_newer_model_is_taken_up_between_two_frames_and_a_bad_one_refused(lab: Plant) -> None:
    maker = Maker(lab)
    maker.publish("dog", 1)
    models = {"folder": str(lab.data / "models"), "key": public_key_in(maker.public)}
    async with bus_of(lab) as bus:
        with lab.worker(lab.config(detector="yard", models=models)) as worker:
            assert set(await labels(bus, lambda seen: len(seen) >= 5)) == {"dog"}
            maker.publish("cat", 2)
            seen = await labels(bus, lambda seen: seen.count("cat") >= 5)
            turn = seen.index("cat")
            assert (set(seen[:turn]), set(seen[turn:])) == ({"dog"}, {"cat"})
            assert worker.metric("model_swaps_total", result="used") == 1
            forged = lab.data / "models" / "forged"
            forged.write_bytes(a_bundle(finds("fox"), version=3, key=STRANGER))
            forged.replace(lab.data / "models" / "yard.bundle")
            until(lambda: worker.metric("model_swaps_total", result="refused") == 1)
            assert set(await labels(bus, lambda seen: len(seen) >= 5)) == {"cat"}
            assert "its signature is not that of the key" in worker.log
