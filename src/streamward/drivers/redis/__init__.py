"""Redis: the index of open batches that several batchers share."""

from streamward.drivers.redis.line import PATIENCE, Patience, RedisServer
from streamward.drivers.redis.open_batches import RedisOpenBatches

__all__ = ["PATIENCE", "Patience", "RedisOpenBatches", "RedisServer"]
