"""A service ticks, rests, outlives its errors, and ends when it is told to; all on virtual time."""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from streamward.runtime import virtual_time
from streamward.runtime.journal import Journal
from streamward.runtime.service import AlreadyRunning, Failures, Service, TickFailed


class Clockwork:
    """Ticks on demand: each step says how long to rest, or raises."""

    def __init__(self, step: Callable[[int], float] = lambda _: 10.0) -> None:
        self.at: list[float] = []
        self._step = step

    async def tick(self) -> float:
        self.at.append(round(asyncio.get_running_loop().time(), 3))
        return self._step(len(self.at))


class Told:
    """What a service records."""

    def __init__(self) -> None:
        self.journal = Journal()
        self.failures: list[tuple[str, str, int]] = []
        self.journal.subscribe(self._hear)

    def _hear(self, fact: TickFailed) -> None:
        self.failures.append((fact.service, type(fact.error).__name__, fact.times))


def failing_until(last: int, *errors: Exception, rest: float = 10.0) -> Callable[[int], float]:
    def step(number: int) -> float:
        if number <= last:
            raise errors[number % len(errors)]
        return rest

    return step


def run_for(seconds: float, body: Clockwork, told: Told, *, meanwhile: Callable[[Service], Any] | None = None) -> None:
    async def main() -> None:
        async with Service("keeper", body, journal=told.journal) as service:
            if meanwhile is not None:
                meanwhile(service)
            await asyncio.sleep(seconds)

    virtual_time.run(main())


def test_it_ticks_at_once_and_then_whenever_the_tick_said():
    body = Clockwork(lambda number: [10.0, 0.5, 100.0][number - 1])
    run_for(30.0, body, Told())
    assert body.at == [0.0, 10.0, 10.5]


def test_a_poke_ends_the_rest():
    body = Clockwork()
    run_for(15.0, body, Told(), meanwhile=lambda service: asyncio.get_running_loop().call_later(4.0, service.poke))
    assert body.at == [0.0, 4.0, 14.0]


def test_a_poke_before_or_during_a_tick_leads_to_another_one():
    body = Clockwork()
    run_for(5.0, body, Told(), meanwhile=Service.poke)
    assert body.at == [0.0, 0.0]


def test_a_tick_that_fails_runs_again_after_a_second():
    body, told = Clockwork(failing_until(2, ValueError("no"))), Told()
    run_for(5.0, body, told)
    assert body.at == [0.0, 1.0, 2.0]


def test_the_first_error_is_told_at_once_and_its_repeats_once_per_interval():
    body, told = Clockwork(failing_until(130, ValueError("no"))), Told()
    run_for(125.0, body, told)
    assert told.failures == [
        ("keeper", "ValueError", 1),
        ("keeper", "ValueError", 60),
        ("keeper", "ValueError", 60),
        ("keeper", "ValueError", 4),
    ]


def test_errors_of_two_kinds_are_told_apart():
    body, told = Clockwork(failing_until(4, ValueError("no"), KeyError("no"))), Told()
    run_for(10.0, body, told)
    assert told.failures[:2] == [("keeper", "KeyError", 1), ("keeper", "ValueError", 1)]


def test_what_was_counted_is_told_when_the_interval_is_over_also_if_all_is_well_again():
    body, told = Clockwork(failing_until(3, ValueError("no"))), Told()
    run_for(100.0, body, told)
    assert told.failures == [("keeper", "ValueError", 1), ("keeper", "ValueError", 2)]


def test_what_was_counted_is_told_at_the_latest_when_it_stops():
    body, told = Clockwork(failing_until(3, ValueError("no"))), Told()
    run_for(10.0, body, told)
    assert told.failures == [("keeper", "ValueError", 1), ("keeper", "ValueError", 2)]


def test_a_cancellation_inside_a_tick_is_an_error_like_others():
    def step(number: int) -> float:
        if number == 1:
            raise asyncio.CancelledError
        return 10.0

    body, told = Clockwork(step), Told()
    run_for(5.0, body, told)
    assert (body.at, told.failures) == ([0.0, 1.0], [("keeper", "CancelledError", 1)])


class Endless:
    """A tick that waits for ever."""

    async def tick(self) -> float:
        await asyncio.sleep(1e9)
        return 0.0


class Stubborn(Endless):
    """A tick that swallows its cancellation."""

    async def tick(self) -> float:
        with contextlib.suppress(asyncio.CancelledError):
            await super().tick()
        return 0.0


@pytest.mark.parametrize("body", [Clockwork(), Endless(), Stubborn()])
def test_stop_ends_a_rest_and_a_tick_at_once(body):
    async def main() -> float:
        service = Service("keeper", body, journal=Journal())
        service.start()
        await asyncio.sleep(3.0)
        assert service.is_running
        await service.stop()
        assert not service.is_running
        await service.stop()
        return asyncio.get_running_loop().time()

    assert virtual_time.run(main()) == pytest.approx(3.0)


def test_it_can_be_started_again_but_not_twice():
    async def main() -> None:
        service = Service("keeper", Clockwork(), journal=Journal())
        for _ in range(2):
            service.start()
            with pytest.raises(AlreadyRunning, match="keeper is already running"):
                service.start()
            await service.stop()

    virtual_time.run(main())


def test_failures_are_told_once_per_interval_and_class():
    failures, first, second = Failures(every=60.0), ValueError("first"), ValueError("second")
    assert failures.due(0.0) == []
    failures.count(first)
    assert failures.due(0.0) == [(first, 1)]
    failures.count(first)
    failures.count(second)
    assert failures.due(59.9) == []
    assert failures.due(60.0) == [(second, 2)]
    failures.count(first)
    assert failures.untold() == [(first, 1)]
    assert failures.untold() == []
