"""The control plane as a runner reaches it, without a network in between."""

from typing import Any

from streamward.protocol import codec
from streamward.protocol.problem import Problem
from tests.support.app import ControlUnderTest


class InProcess:
    """One start of a runner's way to the application; it can be away, or lose the answers."""

    def __init__(self, control: ControlUnderTest, runner_id: str, *, incarnation: str = "inc-1") -> None:
        self._client = control.runner(runner_id, incarnation=incarnation)
        self.is_away = False
        self.is_deaf = False
        self.sent: list[Any] = []

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        if self.is_away:
            return None
        self.sent.append(message)
        answer = await self._client.call("POST", path, content=codec.encode(message))
        return None if self.is_deaf else codec.decode(answer.content, Problem if answer.is_error else kind)
