"""The drivers' worlds for every suite here."""

from tests.support.postgres import postgres
from tests.support.stores import make_rows, migrated_file, world

__all__ = ["make_rows", "migrated_file", "postgres", "world"]
