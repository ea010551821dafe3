"""The bell: no ring is lost between two waits."""

import asyncio

from streamward.runtime import virtual_time
from streamward.runtime.bell import Bell


def test_a_waiter_wakes_when_it_rings():
    async def main() -> tuple[bool, float]:
        bell, loop = Bell(), asyncio.get_running_loop()
        loop.call_later(3.0, bell.ring)
        return await bell.wait(bell.cursor, at_most=60.0), loop.time()

    woken, after = virtual_time.run(main())
    assert woken
    assert 3.0 <= after < 3.1


def test_a_waiter_gives_up_when_its_time_is_over():
    bell = Bell()
    assert virtual_time.run(bell.wait(None, at_most=5.0)) is False


def test_a_ring_before_the_wait_is_not_lost():
    bell = Bell()
    seen = bell.cursor
    bell.ring()
    assert virtual_time.run(bell.wait(seen, at_most=5.0)) is True


def test_a_cursor_of_another_process_answers_at_once():
    assert virtual_time.run(Bell("one").wait(Bell("two").cursor, at_most=5.0)) is True


def test_a_closed_bell_keeps_nobody_waiting():
    async def main() -> list[bool]:
        bell = Bell()
        waiting = asyncio.create_task(bell.wait(bell.cursor, at_most=60.0))
        await asyncio.sleep(0)
        bell.close()
        return [await waiting, await bell.wait(bell.cursor, at_most=60.0), bell.is_closed]

    assert virtual_time.run(main()) == [True, True, True]
