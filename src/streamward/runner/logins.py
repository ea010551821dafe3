"""Whether a Worker's cameras may log in now: by what this process has seen, or by what the control plane knows.

A camera asks before it dials and tells how that ended; meanwhile cameras with the same login wait. The rule is
`leases.logins`. Through the control plane it holds over restarts and takeovers, and whoever cannot reach it tries only
what this process saw accepted and not refused since.
"""

import asyncio
from dataclasses import dataclass
from typing import Protocol

from streamward.leases.lease import Owner
from streamward.leases.logins import (
    ANSWER_WITHIN,
    FRESH_FOR,
    GLANCED_FOR,
    TRIED_FOR,
    Asker,
    LoginId,
    LoginOutcome,
    LoginRecord,
    Permission,
    ask,
    told,
)
from streamward.model.ids import CameraId, Incarnation
from streamward.protocol.logins import MAX_LOGINS, AnsweredLogin, AskLogins, LoginAnswers, NamedLogin, ToldLogin
from streamward.protocol.problem import Problem
from streamward.runner.own_leases import Control
from streamward.runtime.bell import Bell
from streamward.runtime.clock import Clock

LOOK_FIRST = 0.1  # seconds until a login that somebody else tries is asked for again; doubles
LOOK_EVERY = 1.0  # seconds at most between two such looks
PARKED_LOOK = 5.0  # seconds for which the answer that a login is parked counts for all cameras of this process
RETRY_EVERY = 1.0  # seconds until a control plane that did not answer is asked again
_MOST_OUTSTANDING = 4  # messages
_CLOSES_WITHIN = 1.0  # seconds


class Logins(Protocol):
    """Who may log in."""

    async def ask(self, camera_id: CameraId, login: LoginId) -> Permission:
        """Waits while somebody else is finding out; then `GO`, or `PARKED` for now."""
        ...

    def told(self, camera_id: CameraId, login: LoginId, outcome: LoginOutcome) -> None:
        """How that ended; a try of which nothing is told counts as refused."""
        ...

    async def close(self) -> None:
        """Passes on what was told, if that takes no time."""
        ...


class LocalLogins:
    """What this process has seen, and nobody else knows."""

    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock
        self._bell = Bell()
        self._records: dict[LoginId, LoginRecord] = {}

    async def ask(self, camera_id: CameraId, login: LoginId) -> Permission:
        while True:
            seen = self._bell.cursor
            record = self._records.get(login, LoginRecord())
            self._records[login], permission = ask(record, _asker(camera_id), self._clock.boot())
            if permission is not Permission.WAIT:
                return permission
            await self._bell.wait(seen, at_most=LOOK_EVERY)

    def told(self, camera_id: CameraId, login: LoginId, outcome: LoginOutcome) -> None:
        record = self._records.get(login, LoginRecord())
        self._records[login] = told(record, _asker(camera_id), outcome, self._clock.boot())
        self._bell.ring()

    async def close(self) -> None:
        """Nobody is to be told."""


def _asker(camera_id: CameraId) -> Asker:
    return Asker(camera_id, Incarnation(""))


@dataclass(slots=True)
class _Gate:
    """What this process knows of one login; instants are boot-time."""

    by: CameraId | None = None  # who of this process asks for it or tries it
    since: float = 0.0
    proven_at: float | None = None  # accepted here, and not refused since
    parked_until: float = 0.0

    def is_fresh(self, now: float) -> bool:
        return self.proven_at is not None and now - self.proven_at < FRESH_FOR

    def take(self, camera_id: CameraId, now: float) -> bool:
        """One camera of this process at a time."""
        held_for = TRIED_FOR if self.proven_at is None else GLANCED_FOR
        if self.by not in (None, camera_id) and now - self.since < held_for:
            return False
        self.by, self.since = camera_id, now
        return True


class ControlLogins:
    """What the control plane knows; one camera of this process asks for all that have the same login."""

    def __init__(self, owner: Owner, control: Control, *, clock: Clock) -> None:
        self._clock = clock
        self._line = _Line(owner, control)
        self._bell = Bell()
        self._gates: dict[LoginId, _Gate] = {}

    async def ask(self, camera_id: CameraId, login: LoginId) -> Permission:
        gate = self._gates.setdefault(login, _Gate())
        rest = LOOK_FIRST
        while True:
            seen = self._bell.cursor
            if gate.is_fresh(self._clock.boot()):
                return Permission.GO
            if self._clock.boot() < gate.parked_until:
                return Permission.PARKED
            if gate.take(camera_id, self._clock.boot()):
                permission = await self._permission(gate, NamedLogin(camera_uuid=camera_id, login=login))
                if permission is not Permission.WAIT:
                    return permission
            await self._bell.wait(seen, at_most=rest)
            rest = min(2 * rest, LOOK_EVERY)

    def told(self, camera_id: CameraId, login: LoginId, outcome: LoginOutcome) -> None:
        gate = self._gates.setdefault(login, _Gate())
        was_trying = gate.by == camera_id
        if was_trying:
            gate.by = None
        if outcome is LoginOutcome.ACCEPTED:
            gate.proven_at = self._clock.boot()
        elif outcome is LoginOutcome.REFUSED:
            gate.proven_at = None
        if was_trying or outcome is LoginOutcome.REFUSED:
            self._line.tell(ToldLogin(camera_uuid=camera_id, login=login, outcome=outcome))
        self._bell.ring()

    async def close(self) -> None:
        await self._line.close()

    async def _permission(self, gate: _Gate, asked: NamedLogin) -> Permission:
        camera_id = CameraId(asked.camera_uuid)
        is_going = False
        try:
            answer = await self._line.ask(asked)
            permission = self._heard(gate, answer)
            is_going = permission is Permission.GO
            return permission
        finally:
            if not is_going and gate.by == camera_id:
                gate.by = None
                self._bell.ring()

    def _heard(self, gate: _Gate, answer: AnsweredLogin | None) -> Permission:
        """Without an answer only what this process saw accepted goes."""
        if answer is None:
            return Permission.GO if gate.proven_at is not None else Permission.WAIT
        if answer.permission is Permission.PARKED:
            gate.parked_until = self._clock.boot() + min(answer.retry_in_ms / 1000, PARKED_LOOK)
        return answer.permission


Waiting = tuple[NamedLogin, "asyncio.Future[AnsweredLogin | None]"]


class _Line:
    """Everything to and from the control plane, in few messages.

    What concerns one camera goes in order: while a message about it is outstanding, the next one waits. Other cameras
    do not wait for a slow answer.
    """

    def __init__(self, owner: Owner, control: Control) -> None:
        self._owner = owner
        self._control = control
        self._told: list[ToldLogin] = []
        self._asks: list[Waiting] = []
        self._outstanding: dict[asyncio.Task[None], set[str]] = {}  # with the cameras that each is about
        self._news = asyncio.Event()  # something is to be sent, or was answered
        self._is_unanswered = False  # the last exchange was not answered as it should be
        self._talking: asyncio.Task[None] | None = None

    def tell(self, outcome: ToldLogin) -> None:
        """Until it was heard."""
        self._told.append(outcome)
        self._talk()

    async def ask(self, asked: NamedLogin) -> AnsweredLogin | None:
        """The answer; None: there was none. A caller that stops waiting has given up, whatever the answer is."""
        answered: asyncio.Future[AnsweredLogin | None] = asyncio.get_running_loop().create_future()
        self._asks.append((asked, answered))
        self._talk()
        try:
            return await answered
        except asyncio.CancelledError:
            if (asked, answered) in self._asks:
                self._asks.remove((asked, answered))
            else:
                self.tell(_gave_up(asked))
            raise

    async def close(self) -> None:
        """One more moment for what is to be told."""
        if self._talking is not None:
            await asyncio.wait([self._talking], timeout=_CLOSES_WITHIN)
            self._talking.cancel()
            await asyncio.wait([self._talking])

    def _talk(self) -> None:
        self._news.set()
        if self._talking is None or self._talking.done():
            self._talking = asyncio.get_running_loop().create_task(self._exchange_all(), name="logins")

    async def _exchange_all(self) -> None:
        try:
            while self._told or self._asks or self._outstanding:
                self._news.clear()
                if self._is_unanswered:
                    self._is_unanswered = False
                    await asyncio.sleep(RETRY_EVERY)
                told, asks = self._due()
                if told or asks:
                    task = asyncio.get_running_loop().create_task(self._exchange(told, asks))
                    self._outstanding[task] = {each.camera_uuid for each in (*told, *(asked for asked, _ in asks))}
                    task.add_done_callback(self._ended)
                else:
                    await self._news.wait()
        finally:
            outstanding = list(self._outstanding)
            for task in outstanding:
                task.cancel()
            await asyncio.gather(*outstanding, return_exceptions=True)

    def _ended(self, exchange: "asyncio.Task[None]") -> None:
        del self._outstanding[exchange]
        self._news.set()

    def _due(self) -> tuple[list[ToldLogin], list[Waiting]]:
        """What the next message says; a camera asks only after what is told of it."""
        if len(self._outstanding) == _MOST_OUTSTANDING:
            return [], []
        busy = set[str]().union(*self._outstanding.values())
        told = [each for each in self._told if each.camera_uuid not in busy][:MAX_LOGINS]
        self._told = [each for each in self._told if each not in told]
        busy |= {each.camera_uuid for each in self._told}
        asks = [each for each in self._asks if each[0].camera_uuid not in busy][:MAX_LOGINS]
        self._asks = [each for each in self._asks if each not in asks]
        return told, asks

    async def _exchange(self, told: list[ToldLogin], asks: list[Waiting]) -> None:
        """One message and its answer; what was told is kept until it was heard."""
        message = AskLogins(
            runner_id=self._owner.runner_id,
            told=told,
            asks=[asked for asked, _ in asks],
            incarnation=self._owner.incarnation,
        )
        answer = await self._control.post("/v1/logins", message, LoginAnswers, within=ANSWER_WITHIN)
        if answer is None:  # it may have been heard, and have opened tries
            self._told = [*told, *(_gave_up(asked) for asked, _ in asks), *self._told]
        elif isinstance(answer, Problem) and answer.status >= 500:
            self._told = [*told, *self._told]
        self._is_unanswered = not isinstance(answer, LoginAnswers)
        _pass_on(asks, answer if isinstance(answer, LoginAnswers) else None)


def _pass_on(asks: list[Waiting], answers: LoginAnswers | None) -> None:
    """To each its own; a camera that was left out is not held, and so must not go."""
    by_name = {} if answers is None else {(each.camera_uuid, each.login): each for each in answers.items}
    for asked, answered in asks:
        left_out = None if answers is None else _wait(asked)
        if not answered.done():
            answered.set_result(by_name.get((asked.camera_uuid, asked.login), left_out))


def _wait(asked: NamedLogin) -> AnsweredLogin:
    return AnsweredLogin(camera_uuid=asked.camera_uuid, login=asked.login, permission=Permission.WAIT, retry_in_ms=0)


def _gave_up(asked: NamedLogin) -> ToldLogin:
    return ToldLogin(camera_uuid=asked.camera_uuid, login=asked.login, outcome=LoginOutcome.GAVE_UP)
