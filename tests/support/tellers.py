"""A way to the bus that keeps what it is given."""

from streamward.drivers.memory.bus import MemoryBus, MemoryQueues
from streamward.model.message import Message
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.runtime.teller import Teller


class KeepingTeller(Teller):
    """Publishes nothing; each message is kept with the boot-time at which it was given."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(MemoryBus(MemoryQueues(clock)), journal=Journal(), clock=clock)
        self._time = clock
        self.kept: list[tuple[float, Message]] = []

    def tell(self, message: Message) -> None:
        self.kept.append((self._time.boot(), message))
