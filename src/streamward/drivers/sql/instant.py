"""An instant as each database keeps it: `timestamptz` on PostgreSQL, whole microseconds since 1970 on SQLite."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import BigInteger, DateTime
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(instant: datetime) -> int:
    """The instant as SQLite keeps it; exact, unlike a float of seconds."""
    return (instant - _EPOCH) // _MICROSECOND


class Instant(TypeDecorator[datetime]):
    """An aware `datetime` in Python, exact to the microsecond in both databases."""

    impl = DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return BigInteger() if dialect.name == "sqlite" else DateTime(timezone=True)

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        return microseconds(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return value if value is None or dialect.name != "sqlite" else _EPOCH + value * _MICROSECOND
