"""The intake: takes what Workers saw from the bus, and lets go of it only when it is kept.

    take ─read→ what was told ─admit→ stored, or refused by the fence ─batch→ in an open batch ─ack→ gone
           │└─ unusable: dead letters     └─ database or index away: given back, it comes again
           └─ of no tenant, for it was deleted: dropped, and its payload with it

While a full queue is worked off, the next group is read and admitted as the one before is put into batches.

Guaranteed: a message is acknowledged only after all in it is stored and in the index, was refused, or is with the dead
letters. No message is in the way of the others for ever: one that the database cannot take, while it takes others, is
set aside after a few tries.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from streamward.batcher.dead_letters import DeadLetters
from streamward.batcher.facts import DeletedTenantsDropped, DetectionsMissing, MessageUnusable
from streamward.batcher.keeping import Admission, Keeper
from streamward.batcher.pressure import Valve
from streamward.batcher.reading import Told, fetched, read
from streamward.client import PayloadUnusable, payload_key
from streamward.leases.store import StoreUnavailable
from streamward.model.bus import Bus, BusAway, Consumer, Delivery, QueueRefused
from streamward.model.ids import RunnerId, ShardId, TenantId
from streamward.model.objects import ObjectStore, StoreAway
from streamward.model.topic import Topic
from streamward.protocol.events import BATCHER, DetectionsLost
from streamward.protocol.pointers import DATAREF
from streamward.runtime import failpoints
from streamward.runtime.clock import Clock
from streamward.runtime.journal import Journal

TAKEN = failpoints.declare("batch.after-take")
ACKED = failpoints.declare("batch.after-ack")

LISTEN_FOR = 5.0  # seconds, if nothing comes before
MOST = 400  # messages at a time
GROUP_EVERY = 0.4  # seconds from a group to the next, unless MOST wait: a group has a cost of its own
AHEAD = 4 * MOST  # messages in hand: two groups that are worked on, and enough to read meanwhile
PAUSE = 1.0  # seconds, under pressure
TRIES = 3  # of a message alone, before it is set aside


Reading = Told | DetectionsLost | MessageUnusable | StoreAway


@dataclass(frozen=True, slots=True)
class _Read:
    """A message, and what it says."""

    delivery: Delivery
    told: Told


@dataclass(slots=True)
class _Sorted:
    """What is to be done with messages."""

    found: list[_Read] = field(default_factory=list)
    done: list[Delivery] = field(default_factory=list)  # nothing is to be kept of them
    away: StoreAway | None = None  # some lie in an object store that does not answer: they come again


class Intake:
    """A service runs its ticks."""

    def __init__(
        self, bus: Bus, objects: ObjectStore, *, keeper: Keeper, valve: Valve, journal: Journal, clock: Clock
    ) -> None:
        self._bus = bus
        self._objects = objects
        self._keeper = keeper
        self._rules = keeper.rules
        self._valve = valve
        self._journal = journal
        self._clock = clock
        self._dead = DeadLetters(bus, journal=journal, clock=clock)
        self._consumer: Consumer | None = None
        self._next_at = clock.boot()  # when the next group begins, if it is not full before
        self._batching: asyncio.Task[None] | None = None  # the group before, while the next one is admitted
        self._failed: Counter[str] = Counter()  # alone, by message id

    async def tick(self) -> float:
        """Takes some messages and keeps what is in them; of a full group the second half goes on beside the next tick.

        Raises BusAway, QueueRefused, StoreUnavailable, IndexAway, StoreAway: what was taken comes again.
        """
        if await self._valve.should_apply_backpressure():
            return PAUSE
        try:
            consumer = self._consumer or await self._subscribed()
            gather = max(0.0, self._next_at - self._clock.boot())
            taken = await consumer.take(at_most=MOST, within=LISTEN_FOR, gather=gather)
            if taken:
                self._next_at = self._clock.boot() + GROUP_EVERY
                failpoints.reach(TAKEN)
                await self._work(consumer, taken)
            await self._batched(unless_running=len(taken) == MOST)
        except QueueRefused:  # somebody removed it: it is made again
            await self.close()
            raise
        finally:
            self._dead.say()
        return 0.0

    async def close(self) -> None:
        """Listens no more; what is not acknowledged comes again."""
        batching, self._batching = self._batching, None
        if batching is not None:
            batching.cancel()
            await asyncio.wait([batching])
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            await consumer.close()

    async def _subscribed(self) -> Consumer:
        await self._bus.declare(BATCHER)
        await self._dead.declare()
        self._consumer = self._bus.consume(BATCHER.name, prefetch=AHEAD)
        return self._consumer

    async def _work(self, consumer: Consumer, taken: Sequence[Delivery]) -> None:
        """Reads and admits a group; then, when the one before is in batches, begins to put it into batches."""
        async with _given_back_if_it_fails(consumer, taken):
            known = await self._of_tenants(taken)
            sorted_ = await self._sort(known)
            admitted = await self._admitted(sorted_.found)
            await self._batched()
        dropped = {each.tag for each in taken} - {each.tag for each in known}
        batching = self._batch(consumer, taken, sorted_=sorted_, dropped=dropped, admitted=admitted)
        self._batching = asyncio.create_task(batching, name="intake: into batches")

    async def _admitted(self, found: Sequence[_Read]) -> Admission | None:
        """None if the database does not take all of them together."""
        try:
            return await self._keeper.admit([each.told for each in found])
        except StoreUnavailable:
            return None

    async def _batched(self, *, unless_running: bool = False) -> None:
        """Waits until the group before is in batches; raises what it met."""
        if self._batching is None or (unless_running and not self._batching.done()):
            return
        batching, self._batching = self._batching, None
        await batching

    async def _batch(
        self,
        consumer: Consumer,
        taken: Sequence[Delivery],
        *,
        sorted_: _Sorted,
        dropped: set[int],
        admitted: Admission | None,
    ) -> None:
        async with _given_back_if_it_fails(consumer, taken):
            kept = await self._keep(sorted_.found, admitted)
        over = dropped | {each.tag for each in (*sorted_.done, *kept)}
        await consumer.ack([each for each in taken if each.tag in over])
        failpoints.reach(ACKED)
        await consumer.give_back([each for each in taken if each.tag not in over], requeue=True)
        if sorted_.away is not None:
            raise sorted_.away

    async def _of_tenants(self, taken: Sequence[Delivery]) -> list[Delivery]:
        """What is of tenants that there are, or of nobody; the payloads of all others are deleted."""
        tenants = [Topic.tenant_in(each.message.routing_key) for each in taken]
        gone = await self._rules.unknown({TenantId(each) for each in tenants if each is not None})
        dropped = [each for each, tenant in zip(taken, tenants, strict=True) if tenant in gone]
        if not dropped:
            return list(taken)
        for each in dropped:
            with contextlib.suppress(PayloadUnusable):
                if DATAREF in each.message.headers:
                    await self._objects.delete([str(payload_key(each.message))])
        self._journal.record(DeletedTenantsDropped(messages=len(dropped)))
        tags = {each.tag for each in dropped}
        return [each for each in taken if each.tag not in tags]

    async def _sort(self, taken: Sequence[Delivery]) -> _Sorted:
        """Reads what was taken; the unusable is buried, losses are told."""
        result = _Sorted()
        for delivery, reading in zip(taken, await self._readings(taken), strict=True):
            match reading:
                case StoreAway():
                    result.away = reading
                case MessageUnusable():
                    await self._dead.bury(delivery.message, reading)
                    result.done.append(delivery)
                case DetectionsLost():
                    self._journal.record(_missing(reading))
                    result.done.append(delivery)
                case Told():
                    result.found.append(_Read(delivery, reading))
        return result

    async def _readings(self, taken: Sequence[Delivery]) -> list[Reading]:
        """What each says; those that lie elsewhere are fetched together."""
        readings = [None if DATAREF in each.message.headers else self._read_here(each) for each in taken]
        pointing = [place for place, reading in enumerate(readings) if reading is None]
        fetched = await asyncio.gather(*(self._fetched(taken[place]) for place in pointing))
        found = dict(zip(pointing, fetched, strict=True))
        return [found[place] if reading is None else reading for place, reading in enumerate(readings)]

    def _read_here(self, delivery: Delivery) -> Reading:
        try:
            return read(delivery.message)
        except MessageUnusable as err:
            return err

    async def _fetched(self, delivery: Delivery) -> Reading:
        try:
            return read(delivery.message, await fetched(delivery.message, self._objects))
        except (MessageUnusable, StoreAway) as err:
            return err

    async def _keep(self, found: Sequence[_Read], admitted: Admission | None) -> list[Delivery]:
        """All of them together, or those that the database takes."""
        if admitted is None:
            return await self._keep_each(found)
        try:
            await self._keeper.batch(admitted)
        except StoreUnavailable:
            return await self._keep_each(found)
        return [each.delivery for each in found]

    async def _keep_each(self, found: Sequence[_Read]) -> list[Delivery]:
        """One by one; what fails while others do not is to blame itself."""
        done: list[Delivery] = []
        failed: list[tuple[Delivery, StoreUnavailable]] = []
        for each in found:
            try:
                await self._keeper.keep([each.told])
                done.append(each.delivery)
            except StoreUnavailable as err:
                failed.append((each.delivery, err))
                if not done and (len(failed) == TRIES or each is found[-1]):
                    raise  # the database is away, or takes nothing: nobody is to blame
        for delivery, why in failed:
            done += await self._blame(delivery, why)
        return done

    async def _blame(self, delivery: Delivery, err: StoreUnavailable) -> list[Delivery]:
        name = delivery.message.message_id
        self._failed[name] += 1
        if self._failed[name] < TRIES:
            return []
        del self._failed[name]
        await self._dead.bury(delivery.message, MessageUnusable(name, f"the database does not take it ({err})"))
        return [delivery]


@contextlib.asynccontextmanager
async def _given_back_if_it_fails(consumer: Consumer, taken: Sequence[Delivery]) -> AsyncIterator[None]:
    try:
        yield
    except Exception:
        with contextlib.suppress(BusAway):  # then they come again by themselves
            await consumer.give_back(taken, requeue=True)
        raise


def _missing(lost: DetectionsLost) -> DetectionsMissing:
    return DetectionsMissing(
        tenant_id=TenantId(lost.tenant_id),
        runner_id=RunnerId(lost.runner_id),
        shard_id=ShardId(lost.shard_id),
        count=lost.count,
    )
