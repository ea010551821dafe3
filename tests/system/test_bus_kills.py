"""Publishers, consumers and the broker are killed (−9) at random moments: nothing that was confirmed is lost."""

import asyncio
import contextlib
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from streamward.model.bus import BusAway
from tests.support.bus_process import QUEUE, at_last, bus_at
from tests.support.buses import bus_folder
from tests.support.rabbitmq import RabbitServer

ROOT = Path(__file__).resolve().parents[2]
MOST_SAID = 300  # lines after which a process is killed at the latest


class Player:
    """One process, and what it said."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.said: list[str] = []

    @classmethod
    async def start(cls, *args: str) -> "Player":
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.support.bus_process",
            *args,
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": path},
            stdout=asyncio.subprocess.PIPE,
        )
        return cls(process)

    async def says(self, lines: int) -> None:
        """Waits until it has said so many lines more."""
        assert self._process.stdout is not None
        async with asyncio.timeout(60):
            for _ in range(lines):
                line = await self._process.stdout.readline()
                assert line, "it ended by itself"
                self.said.append(line.decode().strip())

    async def kill(self) -> list[str]:
        """Everything that it said before it died."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        rest, _ = await self._process.communicate()
        whole = rest.decode().split("\n")[:-1]
        return [*self.said, *whole]


class Stage:
    """Two publishers and two consumers on one bus, and all that was ever said."""

    def __init__(self, place: str, rng: random.Random) -> None:
        self.place = place
        self.confirmed: list[str] = []
        self.seen: list[tuple[str, str]] = []
        self._rng = rng
        self._runs = 0
        self._publishers: list[Player] = []
        self._consumers: list[Player] = []

    async def add(self, role: str) -> None:
        self._runs += 1
        if role == "publish":
            self._publishers.append(await Player.start("publish", self.place, f"run{self._runs}"))
        else:
            self._consumers.append(await Player.start("consume", self.place))

    async def kill(self, role: str) -> None:
        """Ends one of them at a moment of its own choice."""
        players = self._publishers if role == "publish" else self._consumers
        player = players.pop(self._rng.randrange(len(players)))
        await player.says(self._rng.randrange(1, MOST_SAID))
        self._note(role, await player.kill())

    async def end(self) -> None:
        for role, players in (("publish", self._publishers), ("consume", self._consumers)):
            while players:
                self._note(role, await players.pop().kill())

    def _note(self, role: str, said: list[str]) -> None:
        if role == "publish":
            self.confirmed += said
        else:
            self.seen += [(line.partition(" ")[0], line.partition(" ")[2]) for line in said]


@contextlib.asynccontextmanager
async def playing(place: str) -> AsyncIterator[Stage]:
    seed = random.randrange(10**6)
    stage = Stage(place, random.Random(seed))
    try:
        for role in ("publish", "consume"):
            await stage.add(role)
            await stage.add(role)
        yield stage
    except BaseException as err:
        err.add_note(f"seed {seed}")
        raise
    finally:
        await stage.end()


async def rest_of(place: str, stage: Stage) -> list[tuple[str, str]]:
    """What still waits, when everybody is dead; what is missing has a minute to come."""
    before = asyncio.all_tasks()
    bus = bus_at(place)
    consumer = bus.consume(QUEUE.name, prefetch=500)
    found: list[tuple[str, str]] = []
    missing = set(stage.confirmed) - {name for name, _ in stage.seen}
    give_up_at = asyncio.get_running_loop().time() + 60
    while (taken := await at_last(lambda: consumer.take(at_most=500, within=3.0))) or (
        missing and asyncio.get_running_loop().time() < give_up_at
    ):
        missing -= {each.message.message_id for each in taken}
        found += [(each.message.message_id, "again" if each.is_redelivered else "first") for each in taken]
        with contextlib.suppress(BusAway):
            await consumer.ack(taken)
    await consumer.close()
    await bus.close()
    if left := asyncio.all_tasks() - before:
        await asyncio.wait(left, timeout=60)
    return found


def judge(stage: Stage, rest: list[tuple[str, str]]) -> None:
    seen = [*stage.seen, *rest]
    assert len(stage.confirmed) == len(set(stage.confirmed)) > 100
    assert set(stage.confirmed) - {name for name, _ in seen} == set()


async def test_nothing_confirmed_is_lost_on_the_embedded_bus() -> None:
    with bus_folder() as folder:
        place = str(folder / "bus.sqlite")
        async with playing(place) as stage:
            for role in ("publish", "consume", "consume", "publish", "consume"):
                await stage.kill(role)
                await stage.add(role)
            await stage.kill("consume")
            await stage.kill("publish")
        rest = await rest_of(place, stage)
        judge(stage, rest)
        first = Counter(name for name, turn in (*stage.seen, *rest) if turn == "first")
        assert max(first.values()) == 1, "a message that comes twice says so"


async def test_nothing_confirmed_is_lost_on_a_real_broker(mortal_rabbitmq: RabbitServer) -> None:
    place = mortal_rabbitmq.url()
    async with playing(place) as stage:
        await stage.kill("consume")
        await stage.add("consume")
        await stage.kill("publish")
        mortal_rabbitmq.kill()
        mortal_rabbitmq.start()
        await stage.add("publish")
        await stage.kill("publish")
        await stage.kill("consume")
    judge(stage, await rest_of(place, stage))
