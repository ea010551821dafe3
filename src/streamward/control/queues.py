"""The queues that must be there before anybody publishes what must not be lost."""

from streamward.model.bus import Bus, BusAway
from streamward.protocol.events import BATCHER

AGAIN_EVERY = 5.0  # seconds: an exchange or a binding may be deleted at the broker while this runs


class QueueKeeper:
    """Declares them; a service runs its ticks, and tries again while the bus is away."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def tick(self) -> float:
        """What is there already stays as it is; that a bus is away is told by whoever publishes."""
        try:
            await self._bus.declare(BATCHER)
        except BusAway as away:
            return away.retry_in
        return AGAIN_EVERY
