"""The loop that needs no time."""

import asyncio
import time

import pytest

from streamward.runtime.virtual_time import NothingLeftToWaitFor, run


def test_an_hour_passes_at_once():
    async def wait() -> float:
        await asyncio.wait_for(asyncio.Event().wait(), 3600)
        return 0.0

    began = time.perf_counter()
    with pytest.raises(TimeoutError):
        run(wait())
    assert time.perf_counter() - began < 5


def test_timers_fire_in_the_order_of_their_times():
    assert run(_order((3.0, 1.0, 2.0))) == [1, 2, 0]


def test_the_seed_decides_who_is_first_at_one_instant():
    orders = {tuple(run(_order((1.0,) * 4), seed=seed)) for seed in range(20)}
    assert len(orders) > 1
    assert run(_order((1.0,) * 4), seed=7) == run(_order((1.0,) * 4), seed=7)


def test_a_deadlock_is_an_error():
    async def wait() -> None:
        await asyncio.Event().wait()

    with pytest.raises(NothingLeftToWaitFor, match="for ever"):
        run(wait())


async def _order(delays: tuple[float, ...]) -> list[int]:
    fired: list[int] = []
    done = asyncio.Event()

    def fire(number: int) -> None:
        fired.append(number)
        if len(fired) == len(delays):
            done.set()

    loop = asyncio.get_running_loop()
    for number, delay in enumerate(delays):
        loop.call_later(delay, fire, number)
    await done.wait()
    return fired
