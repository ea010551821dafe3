"""A Manager's conversations with its control plane about leases: sends what the holder has due, and takes in answers.

The holder decides (`leases.holder`); here is the waiting. A release is sent only when nothing is made any more under
the leases that it gives back, and says until when it was; a camera that takes its time to stop holds up no other's.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from streamward.leases.holder import Ask, Holder, Releasing
from streamward.protocol.problem import Problem
from streamward.protocol.runner_link import PATHS, REPLIES, Reply, answer, request
from streamward.runner.facts import LeasesRenewed
from streamward.runner.own_leases import Control
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal

Stopping = Callable[[Releasing], Awaitable[Releasing]]  # what of it has stopped, with its last moments


class LeaseLine:
    """All asks of one holder."""

    def __init__(self, holder: Holder, control: Control, *, clock: Clock, journal: Journal, stopping: Stopping) -> None:
        self._holder = holder
        self._control = control
        self._clock = clock
        self._journal = journal
        self._stopping = stopping
        self._under_way: set[asyncio.Task[None]] = set()

    def send_due(self, heard: Callable[[Reply], None]) -> None:
        """Sends what is due; each reply is told when the holder knows it."""
        for ask in self._holder.due(self._clock.boot()):
            task = asyncio.get_running_loop().create_task(self._send(ask, heard), name=f"lease {ask.kind}")
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """Gives up what is under way."""
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _send(self, ask: Ask, heard: Callable[[Reply], None]) -> None:
        sent = ask
        if isinstance(ask.body, Releasing):
            given = await self._stopping(ask.body)
            sent, ask = replace(ask, body=given), replace(ask, body=_only(ask.body, given))
            if not given.leases:
                self._holder.receive(ask, None, self._clock.boot())
                return
        message: Any = request(sent)
        within = self._holder.spec.answer_within
        reply = await self._control.post(PATHS[type(message)], message, REPLIES[type(message)], within=within)
        now = self._clock.boot()
        self._holder.receive(ask, None if reply is None else answer(reply), now)
        if reply is not None and not isinstance(reply, Problem):
            self._journal.record(LeasesRenewed(duration_ms=(now - ask.sent) * 1000))
            heard(reply)


def _only(releasing: Releasing, given: Releasing) -> Releasing:
    """What of a release goes out now, in the holder's own words: it asks again for the rest."""
    cameras = {each.camera_id for each in given.leases}
    return Releasing(releasing.owner, tuple(each for each in releasing.leases if each.camera_id in cameras))
