"""What system tests share."""

from tests.support.postgres import database, postgres

__all__ = ["database", "postgres"]
