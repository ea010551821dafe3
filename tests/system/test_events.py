"""Real processes from a Worker's message to whoever listens, and to an analyst that is killed at every step."""

import asyncio
import json
import select
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import websockets

from streamward.insight.records import AnalysisRecord, BatchRecord, Recent
from tests.support.batch_plant import PATIENCE, Plant, died
from tests.support.endpoints import FakeEndpoint, answering, verdict
from tests.support.processes import ControlProcess, control

CANARY = "sk-canary"
SEEN = 6  # frames, with two things in each
ALL = Recent(scope=None, limit=1000)
GOOD, BAD = (200, verdict()), (500, b"{}")


def asking(endpoint: FakeEndpoint, **more: Any) -> dict[str, Any]:
    """The settings of a batcher that asks a language model."""
    named = {"ANALYST_NAME": "openai", "ANALYST_URL": endpoint.url, "ANALYST_MODEL": "small", "ANALYST_KEY": CANARY}
    return {**named, **more}


async def analysed(plant: Plant) -> tuple[list[BatchRecord], list[AnalysisRecord]]:
    """Every closed batch and every analysis, once there is one of each."""
    async with asyncio.timeout(PATIENCE), plant.insight() as insight:
        while True:
            await plant.settled()
            batches, said = await insight.records.batches(ALL), await insight.analyses.page(ALL)
            if len(said) == len(batches):
                return batches, said
            await asyncio.to_thread(select.select, [], [], [], 0.2)


def streamed(process: ControlProcess, enough: Callable[[list[tuple[str, Any]]], bool]) -> list[tuple[str, Any]]:
    """What a program hears from the first event on, until it is enough."""
    heard: list[tuple[str, Any]] = []
    with process.client("--viewer", "ada") as client, client.stream("GET", "/v1/events/stream?after=0") as answer:
        assert answer.headers["content-type"] == "text/event-stream"
        kind = ""
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            kind = value if name == "event" else kind
            if name == "data":
                heard.append((kind, json.loads(value)))
            if enough(heard):
                break
    return heard


def is_whole(heard: list[tuple[str, Any]]) -> bool:
    """Whether each detection was told, the batch that it is in, and what happened at zones."""
    new = {body["detection_id"] for kind, body in heard if kind == "detection.new"}
    batched = {each for kind, body in heard if kind == "detection.batch" for each in body["detection_ids"]}
    crossed = [body["type"] for kind, body in heard if kind == "zone.event"]
    return len(new) == 2 * SEEN and new == batched and sorted(crossed) == ["enter"] * SEEN + ["leave"] * SEEN


async def test_what_a_worker_saw_reaches_listeners_commands_and_a_language_model(tmp_path: Path) -> None:
    plant = Plant(tmp_path / "data")
    await plant.seed()
    await plant.publish(SEEN)
    async with answering(GOOD) as endpoint:
        with control(plant.data) as process, plant.batcher(**asking(endpoint)) as batcher:
            heard = await asyncio.to_thread(streamed, process, is_whole)
            batches, said = await analysed(plant)
            assert {each.analysis.summary for each in said} == {"a person came by"}
            assert CANARY not in batcher.log
            lines = await asyncio.to_thread(
                process.command, "events", "tail", "--after", "0", "--limit", str(len(heard)), "--json"
            )
            assert [json.loads(line)["data"] for line in lines.stdout.splitlines()] == [body for _, body in heard]
            shown = await asyncio.to_thread(process.command, "batches", "show", batches[0].batch.batch_id)
            assert "a person came by" in shown.stdout
            await asyncio.to_thread(assert_zones_shown, process)
            await assert_socket(process, heard)


def assert_zones_shown(process: ControlProcess) -> None:
    """What happened at zones is told in words, and listed."""
    told = process.command("events", "tail", "--kind", "zone.event", "--after", "0", "--limit", "2").stdout
    assert [line.split("  ")[-1] for line in told.splitlines()] == [
        "person 7 left door after 2 s",
        "person 7 entered door",
    ]
    listed = process.command("zones", "list", "--camera", "cam-1", "--limit", "1").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["EVENT", listed[1].split()[0]]
    assert listed[1].split()[4:] == ["door", "enter", "person", "7", "0", "no"]
    lines = process.command("zones", "list", "--json").stdout.splitlines()
    assert len({json.loads(line)["zone_event_id"] for line in lines}) == 2 * SEEN


async def assert_socket(process: ControlProcess, heard: list[tuple[str, Any]]) -> None:
    """The same over a WebSocket; without a token nothing."""
    url = process.url.replace("http", "ws") + "/v1/events/socket?after=0&timeout_s=0"
    token = await asyncio.to_thread(process.token, "--viewer", "ada")
    offered = [websockets.Subprotocol(each) for each in ("streamward.events", f"bearer.{token}")]
    async with websockets.connect(url, subprotocols=offered) as socket:
        told = [json.loads(message) async for message in socket]
    assert [(each["event"], each["data"]) for each in told[:-1]] == heard
    assert told[-1]["data"] == {"reason": "time-over"}
    refused = await asyncio.to_thread(httpx.get, f"{process.url}/v1/events/stream")
    assert refused.status_code == httpx.codes.UNAUTHORIZED


async def test_a_batcher_killed_around_an_analysis_leaves_each_batch_with_one(tmp_path: Path) -> None:
    plant = Plant(tmp_path / "data")
    await plant.seed()
    async with answering(GOOD) as endpoint:
        for step in ("analyse", "save"):
            await plant.publish(SEEN)
            with plant.batcher(**asking(endpoint, FAILPOINTS=f"analysis.after-{step}=exit")) as batcher:
                assert await asyncio.to_thread(died, batcher.process) == -signal.SIGKILL, step
        with plant.batcher(**asking(endpoint)):
            batches, said = await analysed(plant)
    assert {each.analysis.batch_id for each in said} == {each.batch.batch_id for each in batches}


async def test_an_urgent_batch_that_nobody_can_analyse_ends_in_another_though_the_batcher_dies(tmp_path: Path) -> None:
    plant = Plant(tmp_path / "data")
    await plant.seed()
    await plant.publish(SEEN)
    urgent = {"BATCH_FAST_PATH_OBJECT_TYPES": "person", "BATCH_FAST_PATH_CONFIDENCE_THRESHOLD": 0.5}
    async with answering(BAD) as broken, answering(GOOD) as endpoint:
        failing = asking(broken, ANALYST_ATTEMPTS=1, FAILPOINTS="analysis.after-reopen=exit", **urgent)
        with plant.batcher(**failing) as batcher:
            assert await asyncio.to_thread(died, batcher.process) == -signal.SIGKILL
        with plant.batcher(**asking(endpoint)):
            batches, said = await analysed(plant)
    seen = [each for record in batches for each in record.batch.detection_ids]
    assert len(seen) == len(set(seen)) == 2 * SEEN
    assert {each.analysis.batch_id for each in said} == {each.batch.batch_id for each in batches}
