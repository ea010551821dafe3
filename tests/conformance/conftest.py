"""The drivers' worlds for every suite here."""

from tests.support.buses import buses, make_buses
from tests.support.indexes import indexes
from tests.support.postgres import postgres
from tests.support.rabbitmq import rabbitmq
from tests.support.seaweed import seaweed
from tests.support.stores import make_rows, migrated_file, world

__all__ = ["buses", "indexes", "make_buses", "make_rows", "migrated_file", "postgres", "rabbitmq", "seaweed", "world"]
