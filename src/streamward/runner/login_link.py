"""The control plane as a Worker with a Manager reaches it: only for logins, and by the Manager's mouth."""

import asyncio
from collections.abc import Callable
from typing import Any

from streamward.protocol.logins import AskLogins, LoginAnswers
from streamward.protocol.worker_link import LoginsAnswered, LoginsAsked


class ManagedControl:
    """Asks the Manager to ask; an answer that comes too late is nobody's."""

    def __init__(self, say: Callable[[LoginsAsked], None]) -> None:
        self._say = say
        self._number = 0
        self._waiting: dict[int, asyncio.Future[LoginAnswers]] = {}

    async def post(self, _path: str, message: AskLogins, _kind: type[Any], *, within: float) -> LoginAnswers | None:
        """The answer, or None if there was none in time."""
        self._number += 1
        number = self._number
        answered: asyncio.Future[LoginAnswers] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answered
        self._say(LoginsAsked(number=number, told=message.told, asks=message.asks))
        try:
            async with asyncio.timeout(within):
                return await answered
        except TimeoutError:
            return None
        finally:
            del self._waiting[number]

    def answered(self, answer: LoginsAnswered) -> None:
        """The Manager has passed an answer on."""
        waiting = self._waiting.get(answer.number)
        if waiting is not None and not waiting.done():
            waiting.set_result(LoginAnswers(items=answer.items))
