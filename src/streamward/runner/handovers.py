"""A Manager's part in handovers: cameras that it watches silently before it holds them, and its own that others take.

The rule is `leases/handover.py`; here is the talk with the control plane, and what Workers see.
"""

import math
from collections.abc import Callable
from typing import Protocol

from streamward.leases.handover import GIVES_UP_AFTER, TALK_EVERY, TALK_OFTEN, WATCHED_FOR, Handing, Watching
from streamward.leases.holder import HolderState, room
from streamward.leases.reconcile import Running
from streamward.model.ids import CameraId, Generation
from streamward.model.runner import DrainMode
from streamward.protocol import handovers as wire
from streamward.protocol.handovers import AskHandovers, HandoverAnswers
from streamward.protocol.problem import Problem
from streamward.protocol.runner_link import PATHS
from streamward.runner.manager_parts import ManagerParts
from streamward.runtime.hedging import WITHIN, Overlapping


class Places(Protocol):
    """Where cameras run."""

    def running(self) -> dict[CameraId, list[Running]]: ...


class Handovers:
    """A service runs its ticks; `poke` has the Manager look again."""

    def __init__(self, parts: ManagerParts, crew: Places, *, poke: Callable[[], None]) -> None:
        self._holder = parts.holder
        self._control = parts.control
        self._known = parts.known
        self._clock = parts.clock
        self._crew = crew
        self._poke = poke
        self._watching = Watching()
        self._calls = Overlapping()
        self._answered = 0.0  # when the newest question was sent that was answered

    @property
    def handed(self) -> dict[CameraId, Generation]:
        """Cameras that are being given back to heirs who see them: they fall silent, and end when that is done."""
        shown = (self._holder.handing or Handing()).shown
        given = self._holder.giving_back.items()
        return {each: named.generation or Generation(0) for each, named in given if each in shown}

    @property
    def silent(self) -> dict[CameraId, Generation]:
        """Cameras that run without a word: those, and what this runner will have soon."""
        now = self._clock.boot()
        self._watching.keep(self._holder.held(-math.inf), now)
        watched = self._watching.watched(now)
        self._holder.is_watching = bool(watched)
        return self.handed | watched

    async def tick(self) -> float:
        """Tells what is seen, and asks what may be watched and how heirs do; a slow answer delays no later word."""
        if self._holder.state is HolderState.STARTING:
            return TALK_EVERY
        now, silent = self._clock.boot(), self.silent
        self._look(now)
        ask = wire.asked(self._watching.ask(self._holder.owner, room=room(self._holder), now=now))
        await self._calls.call(self._talk(ask, asked=now))
        is_moving = bool(self._holder.handing and self._holder.handing.moving)
        is_busy = bool(silent or self.silent) or self._holder.flags.drain is DrainMode.SOFT or is_moving
        return TALK_OFTEN if is_busy else TALK_EVERY

    async def close(self) -> None:
        """Ends what is outstanding."""
        await self._calls.close()

    async def _talk(self, ask: AskHandovers, *, asked: float) -> None:
        answers = await self._control.post(PATHS[type(ask)], ask, HandoverAnswers, within=WITHIN)
        if asked < self._answered:
            return  # a later one was answered before
        self._answered = asked if answers is not None else self._answered
        if isinstance(answers, HandoverAnswers):
            for camera in answers.watch:
                self._known.granted(camera)
            # From when it was heard, so that slow answers do not end what is watched; within bounds, for the control
            # plane may have given it to another meanwhile.
            counted = min(self._clock.boot(), asked + WATCHED_FOR)
            self._watching.heard(wire.watch(answers), asked=counted)
            self._holder.handing = wire.handing(answers)
            for site_id in self._known.sites(is_missing=True):
                await self._known.reread_site(site_id)
        elif isinstance(answers, Problem):
            self._holder.handing = None  # a control plane that knows nothing of it, or nothing of this runner
        self._poke()

    def _look(self, now: float) -> None:
        running = self._crew.running()
        shown = [camera_id for camera_id, places in running.items() if any(each.is_shown for each in places)]
        refused = [
            camera_id for camera_id, places in running.items() if any(_is_hopeless(each, now) for each in places)
        ]
        self._watching.looked(shown=shown, refused=refused)


def _is_hopeless(running: Running, now: float) -> bool:
    """Whether a recorder, which may have no second session, shows nothing."""
    return not running.is_shown and running.dialed_at is not None and now - running.dialed_at > GIVES_UP_AFTER
