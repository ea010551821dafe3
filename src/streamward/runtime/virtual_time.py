"""An event loop whose time is virtual: it jumps to the next timer instead of waiting for it.

Timers that fall due at the same instant fire in an order drawn from a seed, so that a test can try many orders and
repeat the one that failed. Only for code that waits on timers and on itself: real sockets and threads are not awaited.
"""

import asyncio
import random
import selectors
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, TypeVar, TypeVarTuple, Unpack

from streamward.model.errors import StreamwardError

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_TIE = 1e-9  # seconds within which the seed decides who is first


class NothingLeftToWaitFor(StreamwardError):
    """Every task waits for another one, and no timer is set: a deadlock."""

    def __str__(self) -> str:
        return "no timer is set and nothing is ready: the program would wait for ever"


class _JumpingSelector(selectors.SelectSelector):
    """Instead of waiting, moves the loop's time."""

    def __init__(self, jump: Callable[[float], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise NothingLeftToWaitFor
            self._jump(timeout)
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop that needs no time."""

    def __init__(self, *, seed: int = 0) -> None:
        self._virtual_now = 0.0
        self._ties = random.Random(seed)  # noqa: S311 - an order, not a secret
        super().__init__(_JumpingSelector(self._jump))

    def time(self) -> float:
        return self._virtual_now

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return super().call_at(when + self._ties.random() * _TIE, callback, *args, context=context)

    def _jump(self, seconds: float) -> None:
        self._virtual_now += max(0.0, seconds)


def run(main: Coroutine[Any, Any, T], *, seed: int = 0) -> T:
    """Runs a coroutine to its end on virtual time."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(seed=seed)) as runner:
        return runner.run(main)
