"""Where a batcher finds what is open: in Redis if it has the URL of one, else in its own memory."""

from streamward.insight.store import OpenBatches
from streamward.model.secret import Secret


def open_index(url: Secret | None) -> OpenBatches:
    """The index; of the other kind nothing is loaded. It connects when it is first used."""
    if url is None:
        from streamward.drivers.memory.open_batches import MemoryOpenBatches  # noqa: PLC0415

        return MemoryOpenBatches()
    from streamward.drivers.redis import RedisOpenBatches, RedisServer  # noqa: PLC0415

    return RedisOpenBatches(RedisServer(url=url))
