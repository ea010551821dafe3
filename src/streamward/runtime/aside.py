"""Work that blocks, in a thread of its own beside the event loop.

What a library does cannot be interrupted. It keeps a thread for as long as it takes, and delays neither other work nor
the end of the process, as the threads of the loop's own executor would.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import TypeVar

from streamward.model.errors import StreamwardError

T = TypeVar("T")


class Unanswered(StreamwardError):
    """Work that ended its thread without an answer."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"to {self.name} ended without an answer"


async def aside(name: str, work: Callable[[], T | Exception]) -> T:
    """What the work answers; raises it if it is an error."""
    loop = asyncio.get_running_loop()
    waited: asyncio.Future[T] = loop.create_future()

    def tell(answer: T | Exception) -> None:
        if waited.done():
            return  # nobody waits any more
        if isinstance(answer, Exception):
            waited.set_exception(answer)
        else:
            waited.set_result(answer)

    def run() -> None:
        answer: T | Exception = Unanswered(name)
        try:
            answer = work()
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell, answer)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await waited
