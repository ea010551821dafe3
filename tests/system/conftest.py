"""What system tests share."""

from tests.support.postgres import database, emptied, postgres

__all__ = ["database", "emptied", "postgres"]
