"""A Manager's conversations with its control plane about leases: sends what the holder has due, and takes in answers.

The holder decides (`leases.holder`), also when a call is closed because its answer no longer counts. A release is sent
only when nothing is made any more under the leases that it gives back, and says until when it was; a camera that takes
its time to stop holds up no other's.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Any

from streamward.leases.holder import Ask, Holder, Releasing
from streamward.protocol.problem import Problem
from streamward.protocol.runner_link import PATHS, REPLIES, Reply, answer, request
from streamward.runner.facts import AnswersInTime, AnswersTooLate, LeasesRenewed
from streamward.runner.own_leases import Control
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal

CLOSED_BY_HOLDER = 120.0  # seconds: the holder closes a call long before

Stopping = Callable[[Releasing], Awaitable[Releasing]]  # what of it has stopped, with its last moments


class LeaseLine:
    """All asks of one holder."""

    def __init__(self, holder: Holder, control: Control, *, clock: Clock, journal: Journal, stopping: Stopping) -> None:
        self._holder = holder
        self._control = control
        self._clock = clock
        self._journal = journal
        self._stopping = stopping
        self._calls: dict[int, asyncio.Task[None]] = {}  # by the number of the ask

    def send_due(self, heard: Callable[[Reply], None]) -> None:
        """Sends what is due, and closes calls whose answers no longer count; `heard` gets replies after the holder."""
        due = self._holder.due(self._clock.boot())
        outstanding = self._holder.outstanding
        for number, task in self._calls.items():
            if number not in outstanding:
                task.cancel()
        for ask in due:
            task = asyncio.get_running_loop().create_task(self._send(ask, heard), name=f"lease {ask.kind}")
            self._calls[ask.number] = task
            task.add_done_callback(partial(self._forget, ask.number))

    def _forget(self, number: int, _: asyncio.Task[None]) -> None:
        del self._calls[number]

    async def close(self) -> None:
        """Closes every call."""
        calls = list(self._calls.values())
        for task in calls:
            task.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    async def _send(self, ask: Ask, heard: Callable[[Reply], None]) -> None:
        sent = ask
        if isinstance(ask.body, Releasing):
            given = await self._stopping(ask.body)
            sent, ask = replace(ask, body=given), replace(ask, body=_only(ask.body, given))
            if not given.leases:
                self._holder.receive(ask, None, self._clock.boot())
                return
        message: Any = request(sent, at=self._clock.wall())
        reply = await self._control.post(PATHS[type(message)], message, REPLIES[type(message)], within=CLOSED_BY_HOLDER)
        now = self._clock.boot()
        was_late, held = self._holder.answers.delay is not None, len(self._holder.held(-math.inf))
        self._holder.receive(ask, None if reply is None else answer(reply), now)
        self._note_delay(was_late=was_late, held=held)
        if reply is not None and not isinstance(reply, Problem):
            self._journal.record(LeasesRenewed(duration_ms=(now - ask.sent) * 1000))
            heard(reply)

    def _note_delay(self, *, was_late: bool, held: int) -> None:
        delay = self._holder.answers.delay
        if delay is not None and not was_late:
            released = held - len(self._holder.held(-math.inf))
            self._journal.record(AnswersTooLate(delay_ms=round(delay * 1000), released=released))
        elif delay is None and was_late:
            self._journal.record(AnswersInTime())


def _only(releasing: Releasing, given: Releasing) -> Releasing:
    """What of a release goes out now, in the holder's own words: it asks again for the rest."""
    cameras = {each.camera_id for each in given.leases}
    return Releasing(releasing.owner, tuple(each for each in releasing.leases if each.camera_id in cameras))
