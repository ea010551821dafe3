"""Which event bus a process uses: RabbitMQ if it has the URL of one, else the file that its host's processes share."""

from collections.abc import Sequence
from pathlib import Path

from streamward.model.bus import Bus, Queue
from streamward.model.secret import Secret
from streamward.runtime.clock import Clock

FILE = "bus.sqlite"  # in the data folder


def open_bus(url: Secret | None, data: Path, *, clock: Clock, needed: Sequence[Queue] = ()) -> Bus:
    """The bus; of the other kind nothing is loaded. It connects when it is first used.

    A broker's queues that are needed are declared again when a message for them is returned.
    """
    if url is None:
        from streamward.drivers.bus import EmbeddedBus  # noqa: PLC0415

        return EmbeddedBus(data / FILE, clock=clock)
    from streamward.drivers.amqp import AmqpBus, Broker  # noqa: PLC0415

    return AmqpBus(Broker(url=url, clock=clock), needed=needed)
