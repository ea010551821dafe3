"""The few things that PostgreSQL and SQLite spell differently, so that the statements are written once.

Statements that change leases name three tables: `k`, the rows to change with what was asked of each; `t`, the one
moment of the statement; `l`, the lease itself. On PostgreSQL `k` locks its rows first, in the order of their ids, and
`t` is read after that: a statement that waited for a lock must not judge, or date anything, by the time before it. On
SQLite one transaction writes at a time, and the moment is the control process's own.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from streamward.drivers.sql.instant import microseconds

Rows = Sequence[Sequence[object]]

STAMPED = ("stamp", "camera_uuid", "generation", "runner_id", "incarnation", "tenant_id", "site_id")


class SqlDialect(Protocol):
    """One database's spelling."""

    greatest: str
    least: str
    tick: str  # one microsecond
    never: str  # the instant of `lease.NEVER`
    now: str  # a query of one row `now`
    now_after_locks: str  # the same, once every row of `k` is locked
    in_turn: str  # the same, once nobody else broadcasts

    def later(self, instant: str, seconds: str) -> str:
        """An instant so many seconds later."""
        ...

    def locking(self, table: str, *, skip: bool = False) -> str:
        """Locks the rows of that table; with `skip`, leaves those out that somebody else has locked."""
        ...

    def keeping(self, table: str) -> str:
        """Keeps the rows of that table from being removed until the commit."""
        ...

    def alone(self, table: str) -> str:
        """Locks the rows of that table also against those that only want them to stay as they are."""
        ...

    def undisturbed(self, rows: str) -> str:
        """The same leases, locked, once no detection of their cameras is being stored."""
        ...

    def fenced(self) -> str:
        """The grants that a list `m` of stamps names, with their intervals, and when the next one was given.

        No camera of the list is granted to anybody until the commit.
        """
        ...

    def returning(self, alias: str, *columns: str) -> str:
        """What a change tells of the row that it changed, each column marked with the alias."""
        ...

    def listed(self, *columns: str, alias: str = "n", is_numbered: bool = False) -> str:
        """A list that goes with the statement, as a table; if it is numbered, each row knows its `place`."""
        ...

    def pack(self, columns: Sequence[str], rows: Rows, *, alias: str = "n") -> dict[str, Any]:
        """The parameters of such a list."""
        ...


class PostgresDialect:
    """A list is one array for each column; the moment is the server's."""

    greatest = "greatest"
    least = "least"
    tick = "interval '1 microsecond'"
    never = "to_timestamp(0)"
    now = "SELECT lease_now() AS now"
    now_after_locks = "SELECT lease_now() AS now FROM (SELECT count(*) FROM k) AS locked"
    # Held until the commit: numbers come to light in their order, so that a reader misses none.
    in_turn = "SELECT lease_now() AS now FROM (SELECT pg_advisory_xact_lock(21336)) AS locked"

    def later(self, instant: str, seconds: str) -> str:
        return f"({instant} + ({seconds}) * interval '1 second')"

    def locking(self, table: str, *, skip: bool = False) -> str:
        """Keeps out who would change a row, and not who only wants it to stay as it is."""
        return f"FOR NO KEY UPDATE OF {table}{' SKIP LOCKED' if skip else ''}"

    def keeping(self, table: str) -> str:
        return f"FOR KEY SHARE OF {table}"

    def alone(self, table: str) -> str:
        return f"FOR UPDATE OF {table}"

    def undisturbed(self, rows: str) -> str:
        """Who stores a detection locks its lease against this one lock (`grants_of`), for some milliseconds."""
        return (
            f"WITH c AS MATERIALIZED ({rows}) SELECT c.* FROM c"  # noqa: S608 - a statement of this package
            " JOIN stream_leases AS x ON x.camera_uuid = c.camera_uuid ORDER BY c.camera_uuid FOR UPDATE OF x"
        )

    def fenced(self) -> str:
        return (
            "SELECT m.*, f.granted_at, f.ended_at, f.made_until, f.next_at, f.is_busy"  # noqa: S608 - as above
            f" FROM {self.listed(*STAMPED, alias='m')} JOIN grants_of(:m_camera_uuid, :m_generation, :may_wait) AS f"
            " ON f.place = m.stamp AND f.runner_id = m.runner_id AND f.incarnation = m.incarnation"
            " AND f.tenant_id = m.tenant_id AND f.site_id = m.site_id"
        )

    def returning(self, alias: str, *columns: str) -> str:
        return "RETURNING " + ", ".join(f"{alias}.{column} AS {alias}_{column}" for column in columns)

    def listed(self, *columns: str, alias: str = "n", is_numbered: bool = False) -> str:
        """Behind a SELECT the planner does not see how long a list is; where it did, it planned every call anew."""
        arrays = ", ".join(f"(SELECT :{alias}_{column})" for column in columns)
        if is_numbered:
            return f"unnest({arrays}) WITH ORDINALITY AS {alias} ({', '.join(columns)}, place)"
        return f"unnest({arrays}) AS {alias} ({', '.join(columns)})"

    def pack(self, columns: Sequence[str], rows: Rows, *, alias: str = "n") -> dict[str, Any]:
        packed = map(list, zip(*rows, strict=True)) if rows else ([] for _ in columns)
        return {f"{alias}_{column}": values for column, values in zip(columns, packed, strict=True)}


class SqliteDialect:
    """A list is one JSON text; the moment goes with the statement."""

    greatest = "max"
    least = "min"
    tick = "1"
    never = "0"
    now = "SELECT :now AS now"
    now_after_locks = now
    in_turn = now

    def later(self, instant: str, seconds: str) -> str:
        return f"({instant} + CAST(round(({seconds}) * 1000000) AS INTEGER))"

    def locking(self, table: str, *, skip: bool = False) -> str:  # noqa: ARG002 - the whole file is locked already
        return ""

    def keeping(self, table: str) -> str:  # noqa: ARG002 - the whole file is locked already
        return ""

    def alone(self, table: str) -> str:  # noqa: ARG002 - the whole file is locked already
        return ""

    def undisturbed(self, rows: str) -> str:
        return rows

    def fenced(self) -> str:
        return (
            "SELECT m.*, g.granted_at, g.ended_at, g.made_until, s.granted_at AS next_at, false AS is_busy"  # noqa: S608
            f" FROM {self.listed(*STAMPED, alias='m')}"
            " JOIN lease_grants AS g ON g.camera_uuid = m.camera_uuid AND g.generation = m.generation"
            " AND g.runner_id = m.runner_id AND g.incarnation = m.incarnation"
            " AND g.tenant_id = m.tenant_id AND g.site_id = m.site_id"
            " LEFT JOIN lease_grants AS s ON s.camera_uuid = m.camera_uuid AND s.generation = m.generation + 1"
        )

    def returning(self, alias: str, *columns: str) -> str:
        """Sees the changed row only, and knows nothing of its alias."""
        return "RETURNING " + ", ".join(f"{column} AS {alias}_{column}" for column in columns)

    def listed(self, *columns: str, alias: str = "n", is_numbered: bool = False) -> str:
        fields = ", ".join(f"json_extract(value, '$[{place}]') AS {column}" for place, column in enumerate(columns))
        fields += ", key AS place" if is_numbered else ""
        return f"(SELECT {fields} FROM json_each(:{alias}_list)) AS {alias}"  # noqa: S608 - names of this package

    def pack(self, columns: Sequence[str], rows: Rows, *, alias: str = "n") -> dict[str, Any]:  # noqa: ARG002
        return {f"{alias}_list": msgspec.json.encode([[_plain(value) for value in row] for row in rows]).decode()}


def _plain(value: object) -> object:
    return microseconds(value) if isinstance(value, datetime) else value
