"""The stores on PostgreSQL and SQLite."""

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.insight import SqlInsight
from streamward.drivers.sql.migrate import downgrade, migrate
from streamward.drivers.sql.store import SqlStore

__all__ = ["Database", "SqlInsight", "SqlStore", "downgrade", "migrate"]
