"""A control plane in the simulation: the real service and keeper on the in-memory store, with restarts and freezes."""

import random
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from streamward.control.courier import SourceCourier
from streamward.control.handing import HandoverService
from streamward.control.keeper import ReclaimKeeper
from streamward.control.leasing import LeaseService
from streamward.drills.simulation.events import EventQueue, HostClock
from streamward.drivers.memory import MemoryStore
from streamward.drivers.vault import KEY_BYTES, AesVault
from streamward.leases import facts
from streamward.model.identity import Caller
from streamward.protocol import leases as wire
from streamward.protocol.handovers import AskHandovers
from streamward.protocol.runner_link import Reply
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal, Sink

T = TypeVar("T")

VAULT = AesVault(lambda: [bytes(KEY_BYTES)])  # nothing is secret in there
LOCK_WAIT = 0.3  # seconds for which a statement may wait for another's lock, at times


class Endpoint(Protocol):
    """What answers a request: the service itself, or the service behind its HTTP application."""

    def answer(self, caller: Caller, request: Any) -> Reply: ...


class RingsRunners(Bell):
    """A bell that rings at the runners, as the wait endpoint does."""

    def __init__(self, wake: Callable[[], None]) -> None:
        super().__init__(instance="simulated")
        self._wake = wake

    def ring(self) -> None:
        self._wake()


class DirectEndpoint:
    """The lease service, called as its routes call it."""

    def __init__(self, service: LeaseService, handovers: HandoverService) -> None:
        self._service = service
        self._handovers = handovers

    def answer(self, caller: Caller, request: Any) -> Reply:
        match request:
            case wire.RenewCameras():
                return drive(self._service.renew_many(caller, request))
            case wire.AcquireCameras():
                return drive(self._service.acquire_free(caller, request))
            case wire.Heartbeat():
                return drive(self._service.heartbeat(caller, request))
            case wire.ReleaseCameras() | wire.ReleaseCamera():
                return drive(self._service.release(caller, request))
            case wire.RegisterRunner():
                return drive(self._service.register(caller, request))
            case AskHandovers():
                return drive(self._handovers.hand_over(caller, request))
            case wire.ReleaseAll():
                return drive(self._service.release_all(caller, request))
        raise TypeError(request)


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlHost:
    """Where a control plane runs, and how it is made."""

    queue: EventQueue
    rng: random.Random
    clock: HostClock
    make_store: Callable[[HostClock, Bell], MemoryStore]
    make_endpoint: Callable[[MemoryStore, Journal], Endpoint]
    wake: Callable[[], None]  # tells the runners that something may be free


class SimulatedControl:
    """One process of the control plane; what it knows dies with it, the database stays."""

    def __init__(self, host: ControlHost, *, sinks: tuple[Sink, ...]) -> None:
        self._host = host
        self._queue = host.queue
        self._bell = RingsRunners(host.wake)
        self._sinks = sinks
        self._life = 0
        self._frozen_until = 0.0
        self._waiting: list[Callable[[], None]] = []
        self.is_up = False
        self.unsteady_at = 0.0  # when it last started, thawed or saw the database's clock jump
        self.start()

    def start(self) -> None:
        """Comes up with an empty mind."""
        journal = Journal()
        for sink in (*self._sinks, self._notice):
            journal.subscribe(sink)
        self._store = self._host.make_store(self._host.clock, self._bell)
        self._endpoint = self._host.make_endpoint(self._store, journal)
        self._keeper = ReclaimKeeper(self._store, journal)
        self._life += 1
        self.is_up = True
        self.unsteady_at = self._queue.now
        self._keep(self._life)

    def stop(self) -> None:
        self.is_up = False
        self._life += 1

    def freeze(self, seconds: float) -> None:
        """Stands still; requests wait."""
        self._frozen_until = max(self._frozen_until, self._queue.now + seconds)
        self._queue.after(seconds, self._thaw_in_time)

    def thaw(self) -> None:
        """Goes on, with what waited first."""
        self._frozen_until = self._queue.now
        self.unsteady_at = self._queue.now
        waiting, self._waiting = self._waiting, []
        for action in waiting:
            action()

    @property
    def is_running(self) -> bool:
        return self.is_up and self._queue.now >= self._frozen_until

    def heal(self) -> None:
        """Runs, whatever was done to it."""
        if self._queue.now < self._frozen_until:
            self.thaw()
        if not self.is_up:
            self.start()

    def receive(self, caller: Caller, request: Any, reply: Callable[[Reply], None]) -> None:
        """A request arrived; it is answered after whatever the database makes it wait."""
        if not self.is_up:
            return
        if self._host.rng.random() < 0.02:
            waits = self._host.rng.uniform(0.0, LOCK_WAIT)
            self._queue.after(waits, self._answer, self._life, caller, request, reply)
        else:
            self._answer(self._life, caller, request, reply)

    def _answer(self, life: int, caller: Caller, request: Any, reply: Callable[[Reply], None]) -> None:
        if not self._stands_still(lambda: self._answer(life, caller, request, reply)) and life == self._life:
            reply(self._endpoint.answer(caller, request))

    def _keep(self, life: int) -> None:
        if not self._stands_still(lambda: self._keep(life)) and life == self._life:
            self._queue.after(drive(self._keeper.tick()), self._keep, life)

    def _stands_still(self, action: Callable[[], None]) -> bool:
        """While frozen, keeps the action for later and says so."""
        if self._queue.now >= self._frozen_until:
            return False
        self._waiting.append(action)
        return True

    def _thaw_in_time(self) -> None:
        if self._waiting and self._queue.now >= self._frozen_until:
            self.thaw()

    def _notice(self, fact: object) -> None:
        if isinstance(fact, facts.DatabaseClockJumped):
            self.unsteady_at = self._queue.now


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never has to wait: the in-memory store answers at once."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise AssertionError("a simulated call had to wait")


def direct(store: MemoryStore, journal: Journal) -> Endpoint:
    """The lease service without HTTP."""
    courier = SourceCourier(VAULT, journal)
    return DirectEndpoint(LeaseService(store, journal, courier=courier), HandoverService(store, courier=courier))
