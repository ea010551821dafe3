"""A real clip by a real model: what comes out of recorder, RTSP, Worker and bus is what the model sees in the file.

The recorder sends the file's pictures as they are, and the Worker decodes and scales them as we do here: events must
name the same boxes. Which picture an event is of is found by them; a busy machine drops some in each round of the clip.
"""

import asyncio
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import mean

import av
import pytest
from av.video.reformatter import VideoReformatter

from streamward.drivers.decoder import DecodedFrame
from streamward.drivers.detectors.loading import load_detector
from streamward.model.bus import Delivery
from streamward.protocol import codec
from streamward.protocol.events import BATCHER, DetectionEvent, SeenThing, seen_thing
from streamward.protocol.shards import ModelsAt
from streamward.vision.detector import enlarged, least_sure, shown_size
from streamward.vision.sight import believed
from tests.support.films import a_cut
from tests.support.labs import Plant, bus_of, plant, until
from tests.support.material import the_clip, the_model

MODEL = "efficientdet-lite0"
FIRST, LAST = 40, 70  # of the clip's pictures: three seconds, with three to five people
NEARLY = 0.15  # pixels of 768 × 576; an event rounds to tenths
COVERED = 0.8  # of the pictures are to be seen at all
LESS = 0.1  # of the people in a picture may be lost by encoding it


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("ai_edge_litert")
    return a_cut(tmp_path_factory.mktemp("film") / "cut.mp4", the_clip(), first=FIRST, last=LAST)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, film: Path) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--clip", str(film)) as made:
        yield made


def looked_at(file: Path, first: int, last: int) -> list[list[SeenThing]]:
    """What the model sees in each picture of a file, without anything of ours but its scaling."""
    detector, reformatter, seen = load_detector(MODEL, ModelsAt(folder=str(the_model(MODEL)))), VideoReformatter(), []
    with av.open(str(file)) as opened:
        for decoded in islice(opened.decode(video=0), first, last):
            frame = DecodedFrame(decoded, reformatter)
            size = shown_size(detector, frame.size)
            found = believed(detector.detect(frame.fitted(size)), least_sure(detector))
            seen.append([seen_thing(each) for each in enlarged(found, shown=size, sent=frame.size)])
    return seen


def is_same(one: list[SeenThing], other: list[SeenThing]) -> bool:
    """The same things in the same places, in whatever order."""
    if len(one) != len(other):
        return False
    pairs = zip(*(sorted(each, key=lambda thing: (thing.label, thing.bbox_xyxy)) for each in (one, other)), strict=True)
    return all(
        a.label == b.label and all(abs(x - y) <= NEARLY for x, y in zip(a.bbox_xyxy, b.bbox_xyxy, strict=True))
        for a, b in pairs
    )


def people(seen: list[SeenThing]) -> int:
    return sum(thing.label == "person" for thing in seen)


async def events_of(lab: Plant, truth: list[list[SeenThing]]) -> dict[int, DetectionEvent]:
    """Events by the picture that they are of, of which −1 is none, until nearly all pictures were seen."""
    found: dict[int, DetectionEvent] = {}
    async with bus_of(lab) as bus, asyncio.timeout(180):
        consumer = bus.consume(BATCHER.name, prefetch=500)
        while len(found.keys() - {-1}) < COVERED * len(truth):
            some = await consumer.take(at_most=100, within=1.0)
            await consumer.ack(some)
            for event in (codec.decode(each.message.body, DetectionEvent) for each in some):
                places = [place for place, seen in enumerate(truth) if is_same(seen, event.detections)]
                found |= dict.fromkeys(places or [-1], event)
        await consumer.close()
    return found


async def test_events_name_what_the_model_sees_in_the_file(lab: Plant, film: Path) -> None:
    truth = looked_at(film, 0, LAST - FIRST)
    original = looked_at(the_clip(), FIRST, LAST)
    config = lab.config(detector=MODEL, models={"folder": str(the_model(MODEL))}, max_fps=30)
    with lab.worker(config):
        found = await events_of(lab, truth)
    assert -1 not in found, f"an event that is of no picture: {found[-1].detections}"
    told = mean(people(event.detections) for event in found.values())
    assert told == pytest.approx(mean(map(people, original)), rel=LESS)


async def test_a_camera_is_set_to_a_model_and_to_one_that_is_not_there(lab: Plant) -> None:
    with lab.runner("runner-a", MODELS=the_model(MODEL)) as runner:
        set_to(lab, MODEL)
        await people_were_seen(lab)
        set_to(lab, "not-here")
        until(lambda: "DETECTOR_FAILED" in why(lab))
        assert "no model or package has that name" in runner.log


def test_a_camera_whose_model_is_fetched_later_is_looked_at_then(lab: Plant, tmp_path: Path) -> None:
    set_to(lab, MODEL)
    with lab.runner("runner-a", MODELS=tmp_path):
        until(lambda: "its detector cannot be loaded" in why(lab))
        (file,) = the_model(MODEL).glob(f"{MODEL}.*")
        shutil.copy(file, tmp_path)
        until(lambda: "runner-a is streaming it" in why(lab))
        assert "DETECTOR_FAILED" not in why(lab)


def why(lab: Plant) -> str:
    return lab.control.command("cameras", "why", "clip-1").stdout


async def people_were_seen(lab: Plant) -> None:
    """By the runner, in one picture at least."""
    async with bus_of(lab) as bus, asyncio.timeout(120):
        consumer = bus.consume(BATCHER.name, prefetch=500)
        while not any(map(is_of_people, some := await consumer.take(at_most=100, within=1.0))):
            await consumer.ack(some)
        await consumer.close()


def set_to(lab: Plant, detector: str) -> None:
    done = lab.control.command("cameras", "set", "clip-1", "--detector", detector)
    assert done.returncode == 0, done.stderr


def is_of_people(delivery: Delivery) -> bool:
    event = codec.decode(delivery.message.body, DetectionEvent)
    return event.runner_id == "runner-a" and people(event.detections) > 0
