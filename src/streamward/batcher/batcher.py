"""One batcher: its services on what lies outside, from the first tick to a good end.

    bus ─intake→ database ─→ index ─closer→ database ─relay→ analysis queue
                    └──── sweeper ──↑           └─ herald → broadcasts   └─examiners→ analyses

Several run side by side on one database, bus and index, and any may die at any moment.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

from streamward.batcher.adding import Adder
from streamward.batcher.analysing import Analysing, Examiner
from streamward.batcher.closer import Closer
from streamward.batcher.herald import Herald
from streamward.batcher.in_hand import InHand
from streamward.batcher.intake import Intake
from streamward.batcher.keeping import Keeper
from streamward.batcher.parts import Parts
from streamward.batcher.payload_purger import PayloadPurger
from streamward.batcher.pressure import PressureSource, Valve
from streamward.batcher.pruner import Pruner
from streamward.batcher.relay import Relay
from streamward.batcher.sweeper import Sweeper
from streamward.batcher.watched import Watched
from streamward.insight.batch import Sealed
from streamward.insight.store import Loose
from streamward.model.bus import Bus
from streamward.model.errors import StreamwardError
from streamward.model.ids import TenantId
from streamward.model.objects import ObjectStore
from streamward.protocol.batches import detection_batch
from streamward.runtime.service import Service, Ticks

DRAIN_WITHIN = 4.0  # seconds for what is in hand when the end is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What a batcher works on."""

    parts: Parts
    bus: Bus
    objects: ObjectStore
    pressure: Mapping[str, PressureSource] = field(default_factory=dict)
    analysing: Analysing | None = None  # None: others read the analysis queue
    max_bytes: int | None = None  # of an embedded database; None: it has no limit


class Batcher:
    """The services, wired to each other."""

    def __init__(self, outside: Outside) -> None:
        parts, bus = outside.parts, outside.bus
        self._parts = parts
        self._outside = outside
        self.in_hand = InHand()
        self.herald = Herald(parts.insight.broadcasts, journal=parts.journal)
        self.adder = Adder(parts, self.in_hand)
        self.valve = Valve(outside.pressure, journal=parts.journal, clock=parts.clock)
        self.relay = Relay(parts, bus)
        self.closer = Closer(parts, in_hand=self.in_hand, adder=self.adder, on_closed=self._closed)
        keeper = Keeper(parts, adder=self.adder, herald=self.herald)
        self.intake = Intake(
            bus, outside.objects, keeper=keeper, valve=self.valve, journal=parts.journal, clock=parts.clock
        )
        self._examiners = [] if outside.analysing is None else self._examining(bus, outside.analysing)
        self.bodies: dict[str, Watched] = {name: Watched(body) for name, body in self._bodies().items()}
        self._services: dict[str, Service] = {}

    @property
    def is_ready(self) -> bool:
        """Whether everything did its work when it last tried."""
        return bool(self._services) and all(body.is_well for body in self.bodies.values())

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Works for as long as the block lasts, then ends in good order."""
        journal = self._parts.journal
        self._services = {name: Service(name, body, journal=journal) for name, body in self.bodies.items()}
        self.in_hand.ring = self._services["closer"].poke
        self.herald.ring = self._services["herald"].poke
        try:
            for service in self._services.values():
                service.start()
            yield
            await self._drain()
        finally:
            for service in self._services.values():
                await service.stop()
            await self._close_consumers()

    def _bodies(self) -> dict[str, Ticks]:
        return {
            "intake": self.intake,
            "closer": self.closer,
            "relay": self.relay,
            "herald": self.herald,
            "sweeper": Sweeper(self._parts, self.adder),
            "pruner": Pruner(self._parts, max_bytes=self._outside.max_bytes),
            "tenant purger": PayloadPurger(self._parts, self._outside.bus, self._outside.objects),
            **{f"examiner-{number}": each for number, each in enumerate(self._examiners)},
        }

    def _examining(self, bus: Bus, wanted: Analysing) -> list[Examiner]:
        insight, journal = self._parts.insight, self._parts.journal
        return [
            Examiner(insight, bus, wanted.analyst, again=self._add_again, patience=wanted.patience, journal=journal)
            for _ in range(wanted.at_once)
        ]

    async def _add_again(self, loose: Sequence[Loose]) -> None:
        await self.adder.add(loose, now=await self._parts.time.now())

    async def _close_consumers(self) -> None:
        await self.intake.close()
        for examiner in self._examiners:
            await examiner.close()

    def _closed(self, batch: Sealed, tenant_key: str | None) -> None:
        """A batch of ours is written down: it is told to the analysis queue and to whoever listens."""
        self.relay.closed(batch)
        told = detection_batch(batch)
        self.herald.tell(TenantId(batch.tenant_id), "detection.batch", told, tenant_key=tenant_key)
        if "relay" in self._services:
            self._services["relay"].poke()

    async def _drain(self) -> None:
        """Takes nothing more, and brings what is in hand to its end; what is not done by then, others do."""
        for service in self._services.values():
            await service.stop()
        await self._close_consumers()
        with contextlib.suppress(TimeoutError, StreamwardError):
            async with asyncio.timeout(DRAIN_WITHIN):
                await self.closer.close_in_hand()
                await self.relay.tick()
                await self.herald.write()
