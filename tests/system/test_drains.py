"""Runners that are drained or ended, as a consumer of the bus and a scraper of metrics see it."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from streamward.model.bus import Binding, Consumer, Queue
from streamward.protocol.worker_link import WorkerExit
from tests.support.labs import Plant, RunnerProcess, bus_of, plant, until

ALL = Queue(name="drains", bindings=(Binding("status.topic", "#"),))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    with plant(tmp_path_factory.mktemp("lab"), "--cameras", "3") as made:
        yield made


class Statuses:
    """What came on `status.topic`, as plain JSON in the order of its arrival."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self.bodies: list[dict[str, Any]] = []

    def of(self, kind: str, **fields: Any) -> list[dict[str, Any]]:
        return [each for each in self.bodies if each["type"] == kind and fields.items() <= each.items()]

    def states(self, state: str, runner_id: str) -> list[str]:
        """The cameras that a runner announced in that state, once for each time."""
        return sorted(each["camera_uuid"] for each in self.of("stream.status", state=state, runner_id=runner_id))

    async def until(self, is_so: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not is_so():
                some = await self._consumer.take(at_most=100, within=0.2)
                await self._consumer.ack(some)
                self.bodies += [json.loads(each.message.body) for each in some]


@contextlib.asynccontextmanager
async def statuses(lab: Plant) -> AsyncIterator[Statuses]:
    async with bus_of(lab) as bus:
        await bus.declare(ALL)
        consumer = bus.consume(ALL.name, prefetch=500)
        yield Statuses(consumer)
        await consumer.close()


def scraped(runner: RunnerProcess, name: str) -> float:
    """One value of the runner's own page; -1 if it is not there."""
    page = httpx.get(f"http://127.0.0.1:{runner.facts('runner.serves')[0]['own_port']}/metrics", timeout=30).text
    found = [line.rpartition(" ")[2] for line in page.splitlines() if line.partition("{")[0] == name]
    return float(found[0]) if found else -1.0


async def test_a_runner_that_ends_announces_its_streams_as_disconnected(lab: Plant) -> None:
    async with statuses(lab) as heard:
        with lab.runner("runner-a") as runner:
            await heard.until(lambda: set(heard.states("STREAMING", "runner-a")) == set(lab.cameras))
            heard.bodies.clear()
            runner.process.send_signal(signal.SIGTERM)
            await heard.until(lambda: set(heard.states("DISCONNECTED", "runner-a")) == set(lab.cameras))
            assert runner.ended() == WorkerExit.DRAINED


async def test_cameras_that_are_handed_over_are_counted_by_one_runner_and_announced_by_both(lab: Plant) -> None:
    async with statuses(lab) as heard:
        with contextlib.ExitStack() as runners:
            runners.enter_context(lab.runner("runner-a"))
            await heard.until(lambda: set(heard.states("STREAMING", "runner-a")) == set(lab.cameras))
            new = runners.enter_context(lab.runner("runner-b"))
            until(lambda: new.facts("runner.serves"))
            heard.bodies.clear()
            assert lab.control.command("runners", "drain", "runner-a", "soft").returncode == 0
            await heard.until(lambda: set(heard.states("DISCONNECTED", "runner-a")) == set(lab.cameras))
            await heard.until(lambda: heard.of("runner.heartbeat", runner_id="runner-b", streams_owned=3))
            await heard.until(lambda: heard.of("runner.heartbeat", runner_id="runner-a", streams_owned=0))
            old = heard.of("runner.heartbeat", runner_id="runner-a")
            for gained in heard.of("runner.heartbeat", runner_id="runner-b"):
                # What one has gained by then, the other does not count any more; they are not sent at the same moment.
                after = [each["streams_owned"] for each in old if each["ts"] >= gained["ts"]]
                assert max(after, default=0) + gained["streams_owned"] <= len(lab.cameras)
            await heard.until(lambda: set(heard.states("STREAMING", "runner-b")) == set(lab.cameras))
        assert lab.control.command("runners", "drain", "runner-a", "none").returncode == 0


async def test_a_hard_drain_terminates_the_workers_and_frees_their_cameras(lab: Plant) -> None:
    async with statuses(lab) as heard:
        with lab.runner("runner-c") as runner:
            await heard.until(lambda: set(heard.states("STREAMING", "runner-c")) == set(lab.cameras))
            heard.bodies.clear()
            assert lab.control.command("runners", "drain", "runner-c", "hard").returncode == 0
            await heard.until(lambda: set(heard.states("DISCONNECTED", "runner-c")) == set(lab.cameras))
            until(lambda: set(lab.owners().values()) == {None})
            until(lambda: [each["code"] for each in runner.facts("worker.exited")] == [WorkerExit.TERMINATED])
            until(lambda: scraped(runner, "drain_in_progress") == 0)
            assert scraped(runner, "runner_streams_owned") == scraped(runner, "runner_shards") == 0
            assert lab.control.command("runners", "drain", "runner-c", "none").returncode == 0
            until(lambda: set(lab.owners().values()) == {"runner-c"})
            assert runner.ended(signal.SIGTERM) == WorkerExit.DRAINED


def test_a_worker_is_not_ready_while_cameras_of_its_shard_wait_for_their_dials(tmp_path: Path) -> None:
    with plant(tmp_path, "--cameras", "3") as made:
        assert made.control.command("sites", "set", "site-1", "--dials", "1", "--rate", "12").returncode == 0
        with made.runner("runner-a") as runner:
            until(lambda: runner.facts("runner.serves") and runner.facts("worker.began"))
            until(lambda: scraped(runner, "runner_streams_owned") == 3)
            url = f"http://127.0.0.1:{runner.facts('worker.began')[0]['port']}/ready"
            answers: list[tuple[int, int]] = []

            def is_ready() -> bool:
                streaming = len(runner.facts("stream.began"))
                answers.append((streaming, httpx.get(url, timeout=30).status_code))
                return answers[-1][1] == httpx.codes.OK

            until(is_ready, within=120.0)
            assert {(1, 503), (2, 503)} & set(answers), "with what was handed over and streams, it was not ready"
            assert len(runner.facts("stream.began")) == 3
