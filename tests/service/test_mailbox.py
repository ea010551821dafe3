"""What threads tell the event loop: all of it, in order, with few wake-ups; on virtual time."""

import asyncio
import threading

from streamward.runner.mailbox import QUIET_FOR, Mailbox
from streamward.runtime.virtual_time import run


def test_what_is_posted_is_heard_in_order_at_a_word_that_wakes() -> None:
    async def main() -> None:
        mailbox, heard = Mailbox(), list[int]()
        for number in range(3):
            mailbox.post(heard.append, number)
        mailbox.wake()
        mailbox.wake()
        await asyncio.sleep(QUIET_FOR / 10)
        assert heard == [0, 1, 2]
        mailbox.close()

    run(main())


def test_without_one_it_is_heard_a_moment_later() -> None:
    async def main() -> None:
        mailbox, heard = Mailbox(), list[int]()
        for number in range(5):
            mailbox.post(heard.append, number)
            assert heard == [*range(number)]
            await asyncio.sleep(QUIET_FOR * 1.1)
        mailbox.close()
        await asyncio.sleep(0)
        assert heard == [*range(5)]

    run(main())


def test_a_word_that_raises_keeps_no_other_from_being_heard() -> None:
    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        mailbox, heard = Mailbox(), list[int]()
        mailbox.post(_raise)
        mailbox.post(heard.append, 1)
        mailbox.close()
        await asyncio.sleep(0)
        assert heard == [1]

    run(main())


def _raise() -> None:
    raise ValueError


async def test_words_of_many_threads_are_all_heard() -> None:
    mailbox, heard = Mailbox(), list[tuple[int, int]]()

    def talk(name: int) -> None:
        for number in range(2000):
            mailbox.post(heard.append, (name, number))
            mailbox.wake()

    threads = [threading.Thread(target=talk, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    mailbox.close()
    await asyncio.sleep(0)
    assert sorted(heard) == [(name, number) for name in range(4) for number in range(2000)]
    for name in range(4):
        assert [number for talker, number in heard if talker == name] == [*range(2000)]
