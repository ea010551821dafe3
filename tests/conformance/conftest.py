"""The drivers' worlds for every suite here."""

from tests.support.buses import buses, make_buses
from tests.support.indexes import indexes, make_indexes
from tests.support.postgres import postgres
from tests.support.rabbitmq import rabbitmq
from tests.support.redis_server import redis_server
from tests.support.seaweed import seaweed
from tests.support.stores import make_rows, migrated_file, world

__all__ = [
    "buses",
    "indexes",
    "make_buses",
    "make_indexes",
    "make_rows",
    "migrated_file",
    "postgres",
    "rabbitmq",
    "redis_server",
    "seaweed",
    "world",
]
