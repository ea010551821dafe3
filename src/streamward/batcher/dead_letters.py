"""Where messages go that nobody can make detections of: a queue for people, the newest ten thousand."""

from dataclasses import replace

from streamward.batcher.facts import MessageSetAside, MessagesUnusable, MessageUnusable
from streamward.model.bus import Bus, Refused
from streamward.model.message import Message
from streamward.protocol.events import DEAD, DEAD_DETECTIONS
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal
from streamward.runtime.service import Failures

WHY = "streamward_why"  # header
_LONGEST_WHY = 200  # characters


class DeadLetters:
    """Sets messages aside, and tells of it once a minute."""

    def __init__(self, bus: Bus, *, journal: Journal, clock: Clock) -> None:
        self._bus = bus
        self._journal = journal
        self._clock = clock
        self._failures = Failures()

    async def declare(self) -> None:
        """Sees that there is a queue for them; raises BusAway, QueueRefused."""
        await self._bus.declare(DEAD)

    async def bury(self, message: Message, why: MessageUnusable) -> None:
        """Stores it for people, with the reason; one that the bus refuses twice is only counted. Raises BusAway."""
        letter = replace(
            message,
            exchange=DEAD_DETECTIONS,
            message_id=message.message_id or "nameless",
            headers={**message.headers, WHY: why.why[:_LONGEST_WHY]},
            expires_in=None,
            is_mandatory=True,
        )
        if isinstance(await self._bus.publish(letter), Refused):
            await self.declare()  # the exchange or a binding may have been deleted at the broker
            await self._bus.publish(letter)
        self._failures.count(why)
        self._journal.record(MessageSetAside(message_id=message.message_id))

    def say(self) -> None:
        """Tells of what was set aside since it was last told."""
        for error, times in self._failures.due(self._clock.boot()):
            assert isinstance(error, MessageUnusable)
            self._journal.record(MessagesUnusable(error=error, times=times))
