"""Bugs as somebody might make them in a batcher: the simulation must catch every one."""

from collections.abc import Callable, Sequence

from streamward.batcher.batcher import Batcher
from streamward.batcher.watched import Watched
from streamward.drivers.memory.detections import MemoryBatches
from streamward.insight.batch import Sealed
from streamward.insight.store import Waiting
from streamward.model.bus import Consumer, Delivery
from tests.support.batching import World

Plant = Callable[[World], None]


def acknowledges_first(world: World) -> None:
    """A message is let go of before what is in it is kept."""

    def alter(batcher: Batcher) -> None:
        work = batcher.intake._work

        async def hasty(consumer: Consumer, taken: Sequence[Delivery]) -> None:
            await consumer.ack(taken)
            await work(consumer, taken)

        batcher.intake._work = hasty  # type: ignore[method-assign]

    world.alter = alter


def never_sweeps(world: World) -> None:
    """Nobody looks for what is stored and in no batch."""

    def alter(batcher: Batcher) -> None:
        batcher.bodies["sweeper"] = Watched(_Idle())

    world.alter = alter


def claims_what_others_have(world: World) -> None:
    """The claim of a detection does not ask whether another batch has it."""

    class Greedy(MemoryBatches):
        def _is_loose(self, detection_id: int, batch: Sealed) -> bool:
            return detection_id in self._db.detections and batch.batch_id not in self._db.batches

    world.insight.batches = Greedy(world.db)


def forgets_before_it_closes(world: World) -> None:
    """The index is told that a batch is written down before it is, and nobody sweeps."""

    def alter(batcher: Batcher) -> None:
        batcher.bodies["sweeper"] = Watched(_Idle())
        close, index = batcher.closer._close, batcher.closer._parts.index

        async def hasty(batches: Sequence[Sealed]) -> None:
            for batch in batches:
                await index.forget(batch.tenant_id, [batch])  # type: ignore[arg-type]
            await close(batches)

        batcher.closer._close = hasty  # type: ignore[method-assign]

    world.lose = lambda **_: None  # type: ignore[method-assign] # the index loses nothing by itself
    world.alter = alter


def tells_before_it_publishes(world: World) -> None:
    """A batch is off the outbox before the queue has it."""

    def alter(batcher: Batcher) -> None:
        publish, batches = batcher.relay._publish, batcher.relay._parts.insight.batches

        async def hasty(chosen: Sequence[Waiting]) -> int:
            await batches.told([each.position for each in chosen])
            return await publish(chosen)

        batcher.relay._publish = hasty  # type: ignore[method-assign]

    world.alter = alter


class _Idle:
    async def tick(self) -> float:
        return 60.0


PLANTS: dict[str, Plant] = {
    each.__name__: each
    for each in (
        acknowledges_first,
        never_sweeps,
        claims_what_others_have,
        forgets_before_it_closes,
        tells_before_it_publishes,
    )
}
