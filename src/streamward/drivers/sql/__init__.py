"""The stores on PostgreSQL and SQLite."""

from streamward.drivers.sql.migrate import downgrade, migrate
from streamward.drivers.sql.store import SqlStore

__all__ = ["SqlStore", "downgrade", "migrate"]
