"""Whatever is told of frames into SQL: the fence is a condition of the statement that stores it.

`leases.fence` as SQL, for each table that lies behind it. A stamp is what things of one camera and generation have in
common; the database looks at each once. On PostgreSQL the statement keeps every camera that it names from being granted
anew until it has committed, and its moment is read after that. A camera that is just being granted is left out, and
then waited for by itself: so nobody waits for one lock while holding another, and no camera holds up a group.

The differential test in `tests/conformance` holds this module to the Python rule.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Generic, TypeVar

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import STAMPED, SqlDialect
from streamward.drivers.sql.statement import Shape, Statement, statement
from streamward.insight.store import Made, Stored, in_turn
from streamward.insight.zone_events import Noted

_CHUNK = 1000  # rows of one statement, which must end within a statement's time
_KEYED = ("event_id", "idx")
_JUDGED = ("stamp", *_KEYED, "made_at")
_LARGEST = 2**63  # no generation comes so far, and no column holds it

Key = tuple[str, int]
M = TypeVar("M", bound=Made)
S = TypeVar("S", bound=Stored | Noted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[M, S]):
    """One table behind the fence, and how its rows are made and read."""

    name: str
    number: str  # the column that is counted by itself
    told: tuple[str, ...]  # of each row, beside what the fence judges
    values: Callable[[M], tuple[object, ...]]  # the same of one
    dated: str = "made_at"  # which of these moments a row is dated by
    found: Shape  # what is read of a row that is there
    new: Callable[[M, int, bool, datetime], S]  # one that was stored just now: its number, whether it is late, its date
    known: Callable[[Any, bool], S]  # a row, and whether it is new

    @property
    def listed(self) -> tuple[str, ...]:
        """What goes with the statement."""
        return *_JUDGED, *self.told

    @property
    def own(self) -> tuple[str, ...]:
        """The columns that are stored as they were told."""
        return tuple(column for column in self.told if column != self.dated)


@dataclass(slots=True)
class Answer(Generic[S]):
    """What is stored of what was offered, and when that was."""

    at: datetime
    stored: dict[Key, S]


class Admission(Generic[M, S]):
    """The one way into a table behind the fence."""

    def __init__(self, database: Database, table: Table[M, S]) -> None:
        self._way: _Sqlite[M, S] | _Postgres[M, S]
        self._way = _Postgres(database, table) if database.is_postgres else _Sqlite(database, table)

    async def admit(self, made: Sequence[M]) -> tuple[tuple[S | None, ...], datetime]:
        """What became of each, None: refused; and the database's time."""
        stored: list[S | None] = []
        for start in range(0, max(1, len(made)), _CHUNK):
            some = made[start : start + _CHUNK]
            answer = await self._way.admit(some)
            stored += [answer.stored.get((each.event_id, each.index)) for each in some]
        if len({(each.event_id, each.index) for each in made}) < len(made):
            stored = _new_once(made, stored)
        return tuple(stored), answer.at


class _Sqlite(Generic[M, S]):
    """Each statement takes several turns of the database's thread, so nothing is asked that is known."""

    def __init__(self, database: Database, table: Table[M, S]) -> None:
        self._db = database
        self._table = table
        told = f"{table.number} is_late made_at"
        self._admit = statement(
            f"{_tables(database.dialect)} {_insert(database.dialect, table)}, is_late, made_at", returns=told
        )
        self._find = _find(database.dialect, table)

    async def admit(self, made: Sequence[M]) -> Answer[S]:
        offered = _offered(made)
        moment = self._db.moment()
        params = {**_listed(offered, self._table, self._db.dialect), **moment}
        async with self._db.session() as session:
            new = sorted(await session.rows(self._admit, params))
            if len(new) == len(offered):
                return Answer(at=moment["now"], stored=_all_new(offered, self._table, new))
            rows = await session.rows(self._find, self._db.dialect.pack(_KEYED, list(offered)))
        return Answer(at=moment["now"], stored=_stored(rows, self._table, new={row[0] for row in new}))


class _Postgres(Generic[M, S]):
    """Answered in arrays, since nothing else is asked so often."""

    def __init__(self, database: Database, table: Table[M, S]) -> None:
        self._db = database
        self._table = table
        self._admit = _admit_and_tell(database.dialect, table)
        self._find = _find(database.dialect, table)

    async def admit(self, made: Sequence[M]) -> Answer[S]:
        offered = _offered(made)
        row = await self._store(offered, may_wait=False)
        if len(row.ids or ()) == len(offered):
            told = zip(row.ids or (), row.late or (), row.dates or (), strict=True)
            return Answer(at=row.now, stored=_all_new(offered, self._table, told))
        new = set(row.ids or ())
        for camera_id in sorted(row.busy):
            waiting = {key: each for key, each in offered.items() if each.camera_id == camera_id}
            new |= set((await self._store(waiting, may_wait=True)).ids or ())
        async with self._db.session(is_single=True) as session:
            rows = await session.rows(self._find, self._db.dialect.pack(_KEYED, list(offered)))
        return Answer(at=row.now, stored=_stored(rows, self._table, new=new))

    async def _store(self, offered: Mapping[Key, M], *, may_wait: bool) -> Any:
        params = {**_listed(offered, self._table, self._db.dialect), "may_wait": may_wait}
        async with self._db.session(is_single=True) as session:
            [row] = await session.rows(self._admit, params)
        return row


def plain(label: str) -> str:
    """A label without the one character that PostgreSQL has no room for."""
    return label.replace("\0", "\N{REPLACEMENT CHARACTER}")


def _offered(made: Sequence[M]) -> dict[Key, M]:
    """Each once, in the order in which it is stored; a generation that cannot be was never granted."""
    ordered = (made[place] for place in in_turn(made))
    return {(each.event_id, each.index): each for each in ordered if 0 < each.generation < _LARGEST}


def _listed(offered: Mapping[Key, M], table: Table[M, S], dialect: SqlDialect) -> dict[str, Any]:
    stamps: dict[tuple[object, ...], int] = {}
    rows = [(*_judged(each, stamps), *table.values(each)) for each in offered.values()]
    numbered = [(number, *stamp) for stamp, number in stamps.items()]
    return {**dialect.pack(STAMPED, numbered, alias="m"), **dialect.pack(table.listed, rows)}


def _judged(made: Made, stamps: dict[tuple[object, ...], int]) -> tuple[object, ...]:
    """What the fence judges; its stamp is numbered, from one, if it is a new one."""
    stamp = (made.camera_id, made.generation, made.runner_id, made.incarnation, made.tenant_id, made.site_id)
    return stamps.setdefault(stamp, len(stamps) + 1), made.event_id, made.index, made.made_at


def _all_new(offered: Mapping[Key, M], table: Table[M, S], told: Iterable[Sequence[Any]]) -> dict[Key, S]:
    """Number, lateness and date of each, in the order of the numbers, which is the one in which it was offered."""
    return {key: table.new(each, *one) for (key, each), one in zip(offered.items(), told, strict=True)}


def _stored(rows: Iterable[Any], table: Table[M, S], *, new: Container[int]) -> dict[Key, S]:
    """Rows begin with number, event and place in it."""
    return {(row[1], row[2]): table.known(row, row[0] in new) for row in rows}


def _new_once(made: Iterable[Made], stored: Iterable[S | None]) -> list[S | None]:
    """What is named twice is new the first time only."""
    told: set[Key] = set()
    found: list[S | None] = []
    for each, kept in zip(made, stored, strict=True):
        key = (each.event_id, each.index)
        found.append(replace(kept, is_new=False) if kept is not None and key in told else kept)
        told.add(key)
    return found


def _tables(dialect: SqlDialect) -> str:
    return f"WITH k AS MATERIALIZED ({dialect.fenced()}), t AS MATERIALIZED ({dialect.now_after_locks})"


def _insert(dialect: SqlDialect, table: Table[M, S]) -> str:
    def dated(moment: str) -> str:
        """`fence.dated`."""
        return f"{dialect.greatest}(k.granted_at, {dialect.least}(n.{moment}, t.now, coalesce(k.ended_at, t.now)))"

    own = (", ".join(table.own), ", ".join(f"n.{column}" for column in table.own))
    return (
        f"INSERT INTO {table.name} (event_id, idx, tenant_id, site_id, camera_uuid, generation, made_at, stamped_at,"
        f" stored_at, is_late, {own[0]})"
        " SELECT n.event_id, n.idx, k.tenant_id, k.site_id, k.camera_uuid, k.generation,"
        f" {dated(table.dated)}, n.made_at, t.now, k.next_at IS NOT NULL, {own[1]}"
        f" FROM {dialect.listed(*table.listed, is_numbered=True)} CROSS JOIN t JOIN k ON k.stamp = n.stamp"
        " WHERE NOT k.is_busy AND (k.made_until IS NULL OR n.made_at <= k.made_until)"
        f" AND (k.next_at IS NULL OR {dated('made_at')} < k.next_at)"
        f" ORDER BY n.place ON CONFLICT (event_id, idx) DO NOTHING RETURNING {table.number}"
    )


def _admit_and_tell(dialect: SqlDialect, table: Table[M, S]) -> Statement:
    """One row: what was stored, and which cameras were left out. Numbers rise as the rows were ordered."""
    return statement(
        f"{_tables(dialect)}, stored AS ({_insert(dialect, table)}, is_late, made_at)"
        " SELECT t.now, ARRAY(SELECT k.camera_uuid FROM k WHERE k.is_busy) AS busy, told.* FROM t CROSS JOIN"
        f" (SELECT array_agg({table.number} ORDER BY {table.number}) AS ids,"
        f" array_agg(is_late ORDER BY {table.number}) AS late,"
        f" array_agg(made_at ORDER BY {table.number}) AS dates FROM stored) AS told"
    )


def _find(dialect: SqlDialect, table: Table[M, S]) -> Statement:
    """What is stored, just now or long ago."""
    alias = table.found.alias
    return statement(
        f"SELECT {table.found.columns} FROM {dialect.listed(*_KEYED)}"
        f" CROSS JOIN {table.name} AS {alias} WHERE {alias}.event_id = n.event_id AND {alias}.idx = n.idx",
        table.found,
    )
