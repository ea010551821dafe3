"""The in-memory twin of the database: the pure rules applied to dictionaries, for tests and the simulation."""

from streamward.drivers.memory.database import MemoryDatabase
from streamward.drivers.memory.insight import MemoryInsight
from streamward.drivers.memory.store import MemoryStore

__all__ = ["MemoryDatabase", "MemoryInsight", "MemoryStore"]
