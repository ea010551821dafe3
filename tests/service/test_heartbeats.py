"""Runners are heard on the bus, and for how long one was not is told."""

from dataclasses import replace

import pytest

from streamward.control.heartbeats import HeartbeatWatch, Silence
from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.leases.facts import RunnerHeard
from streamward.model.bus import Bus, BusAway, QueueRefused
from streamward.model.ids import Incarnation, RunnerId
from streamward.protocol import codec
from streamward.protocol.events import HEARTBEATS, STATUS
from streamward.protocol.leases import Heartbeat
from streamward.runtime.journal import Journal
from streamward.runtime.virtual_time import run
from tests.support import hostile
from tests.support.buses import a_message
from tests.support.clocks import LoopClock

ONE, TWO = RunnerId("r1"), RunnerId("r2")
FIRST, SECOND = Incarnation("inc-1"), Incarnation("inc-2")


class AwayBus(MemoryBus):
    """Nobody answers."""

    async def declare(self, queue: object) -> None:
        raise BusAway("mq:5672", "connection refused", retry_in=2.0)


class Listening:
    """A watch, its bus, and whom it heard."""

    def __init__(self) -> None:
        self.queues = MemoryQueues(LoopClock())
        self.bus: Bus = MemoryBus(self.queues)
        self.journal = Journal()
        self.heard: list[str] = []
        self.journal.subscribe(self._note)
        self.watch = HeartbeatWatch(self.bus, journal=self.journal)

    async def beat(self, body: bytes, runner_id: str = "r1") -> None:
        message = a_message(1, exchange=STATUS)
        await self.bus.publish(replace(message, routing_key=f"runner.heartbeat.{runner_id}", body=body))

    def _note(self, fact: object) -> None:
        if isinstance(fact, RunnerHeard):
            self.heard.append(fact.runner_id)


def beat(runner_id: str) -> bytes:
    return codec.encode(Heartbeat(runner_id=runner_id, streams_owned=3))


def test_each_heartbeat_is_heard_once_and_nonsense_is_passed_over():
    async def scene() -> list[str]:
        here = Listening()
        await here.watch.tick()
        nonsense = [each.encode("utf-8", errors="surrogatepass") for each in hostile.BODIES]
        for body in (beat("r1"), *nonsense, beat("r2")):
            await here.beat(body)
        await here.watch.tick()
        await here.watch.close()
        assert not here.queues.by_name[HEARTBEATS.name].ready
        return here.heard

    assert run(scene()) == ["r1", "r2"]


def test_a_queue_that_was_removed_is_made_again():
    async def scene() -> list[str]:
        here = Listening()
        await here.watch.tick()
        here.queues.by_name.clear()
        with pytest.raises(QueueRefused):
            await here.watch.tick()
        await here.watch.tick()
        await here.beat(beat("r1"))
        await here.watch.tick()
        return here.heard

    assert run(scene()) == ["r1"]


def test_heartbeats_are_received_again_after_their_exchange_was_deleted():
    async def scene() -> list[str]:
        here = Listening()
        await here.watch.tick()
        here.queues.by_name[HEARTBEATS.name].bindings.clear()
        await here.beat(beat("r1"))
        await here.watch.tick()
        await here.beat(beat("r2"))
        await here.watch.tick()
        return here.heard

    assert run(scene()) == ["r2"]


def test_a_bus_that_is_away_is_tried_again_when_it_says():
    async def scene() -> float:
        return await HeartbeatWatch(AwayBus(MemoryQueues(LoopClock())), journal=Journal()).tick()

    assert run(scene()) == 2.0


def test_a_runner_is_as_silent_as_it_was_not_heard():
    silence = Silence()
    assert silence.ages({ONE: FIRST, TWO: FIRST}, 100.0) == {ONE: 0.0, TWO: 0.0}
    silence.heard(ONE, 107.0)
    assert silence.ages({ONE: FIRST, TWO: FIRST}, 108.0) == {ONE: 1.0, TWO: 8.0}


def test_a_new_start_has_time_to_say_something():
    silence = Silence()
    silence.ages({ONE: FIRST}, 100.0)
    silence.heard(ONE, 101.0)
    assert silence.ages({ONE: SECOND}, 200.0) == {ONE: 0.0}
    assert silence.ages({ONE: SECOND}, 206.0) == {ONE: 6.0}


def test_one_that_ended_is_forgotten_and_strangers_do_not_count():
    silence = Silence()
    silence.ages({ONE: FIRST}, 100.0)
    silence.heard(TWO, 101.0)
    assert silence.ages({}, 200.0) == {}
    assert silence.ages({ONE: FIRST}, 300.0) == {ONE: 0.0}
