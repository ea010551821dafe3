"""Detections into SQL: the fence is a condition of the statement that stores them.

`leases.fence` as SQL. A stamp is what detections of one camera and generation have in common; the database looks at
each once. On PostgreSQL the statement keeps every camera that it names from being granted anew until it has committed,
and its moment is read after that. A camera that is just being granted is left out, and then waited for by itself: so
nobody waits for one lock while holding another, and no camera holds up a group.

The differential test in `tests/conformance` holds this module to the Python rule.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import STAMPED, SqlDialect
from streamward.drivers.sql.statement import Shape, Statement, statement
from streamward.insight.store import Seen, Stored, in_turn

_KEYED = ("event_id", "idx")
_SEEN = ("stamp", *_KEYED, "made_at", "label", "confidence", "box", "track_id", "zones")
_STORED = Shape("d", "detection_id event_id idx made_at is_late batch_id")
_LARGEST = 2**63  # no generation comes so far, and no column holds it

_json = msgspec.json.Encoder().encode

Key = tuple[str, int]
Offered = Mapping[Key, Seen]


@dataclass(slots=True)
class Answer:
    """What is stored of what was offered, and when that was."""

    at: datetime
    stored: dict[Key, Stored]


class SqliteAdmission:
    """Puts detections into SQLite."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._admit = _admit(database.dialect)
        self._find = _find(database.dialect)

    async def admit(self, seen: Sequence[Seen]) -> Answer:
        """What became of each that was not refused."""
        offered = _offered(seen)
        pack = self._db.dialect.pack
        params = {**_listed(offered, self._db.dialect), **self._db.moment()}
        async with self._db.session() as session:
            at = await self._db.now(session)
            new = await session.rows(self._admit, params)
            rows = await session.rows(self._find, pack(_KEYED, list(offered)))
        return Answer(at=at, stored=_stored(rows, new={row.detection_id for row in new}))


class PostgresAdmission:
    """Puts detections into PostgreSQL; answered in arrays, since nothing else is asked so often."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._admit = _admit_and_tell(database.dialect)
        self._find = _find(database.dialect)

    async def admit(self, seen: Sequence[Seen]) -> Answer:
        """What became of each that was not refused."""
        offered = _offered(seen)
        row = await self._store(offered, may_wait=False)
        if len(row.ids or ()) == len(offered):
            told = zip(offered.items(), row.ids or (), row.late or (), strict=True)
            return Answer(at=row.now, stored={key: _new(each, *new, at=row.now) for (key, each), *new in told})
        new = set(row.ids or ())
        for camera_id in sorted(row.busy):
            waiting = {key: each for key, each in offered.items() if each.camera_id == camera_id}
            new |= set((await self._store(waiting, may_wait=True)).ids or ())
        async with self._db.session(is_single=True) as session:
            rows = await session.rows(self._find, self._db.dialect.pack(_KEYED, list(offered)))
        return Answer(at=row.now, stored=_stored(rows, new=new))

    async def _store(self, offered: Offered, *, may_wait: bool) -> Any:
        async with self._db.session(is_single=True) as session:
            [row] = await session.rows(self._admit, {**_listed(offered, self._db.dialect), "may_wait": may_wait})
        return row


def _offered(seen: Sequence[Seen]) -> Offered:
    """Each once, in the order in which it is stored; a generation that cannot be was never granted."""
    ordered = (seen[place] for place in in_turn(seen))
    return {(each.event_id, each.index): each for each in ordered if 0 < each.generation < _LARGEST}


def _listed(offered: Offered, dialect: SqlDialect) -> dict[str, Any]:
    stamps: dict[tuple[object, ...], int] = {}
    rows = [_row(each, stamps) for each in offered.values()]
    numbered = [(number, *stamp) for stamp, number in stamps.items()]
    return {**dialect.pack(STAMPED, numbered, alias="m"), **dialect.pack(_SEEN, rows)}


def _row(seen: Seen, stamps: dict[tuple[object, ...], int]) -> tuple[object, ...]:
    """One detection; its stamp is numbered, from one, if it is a new one."""
    what = seen.detection
    box = what.box
    stamp = (seen.camera_id, seen.generation, seen.runner_id, seen.incarnation, seen.tenant_id, seen.site_id)
    return (
        stamps.setdefault(stamp, len(stamps) + 1),
        seen.event_id,
        seen.index,
        seen.made_at,
        what.label.replace("\0", "\N{REPLACEMENT CHARACTER}"),  # which PostgreSQL has no room for
        what.confidence,
        _json((box.x1, box.y1, box.x2, box.y2)).decode(),
        what.track_id,
        _json(what.zones).decode() if what.zones else "[]",
    )


def _new(seen: Seen, detection_id: int, is_late: bool, *, at: datetime) -> Stored:
    made_at = min(seen.made_at, at)
    return Stored(detection_id=detection_id, made_at=made_at, is_late=is_late, is_new=True, batch_id=None)


def _stored(rows: Iterable[Any], *, new: Container[int]) -> dict[Key, Stored]:
    return {
        (row.d_event_id, row.d_idx): Stored(
            detection_id=row.d_detection_id,
            made_at=row.d_made_at,
            is_late=row.d_is_late,
            is_new=row.d_detection_id in new,
            batch_id=row.d_batch_id,
        )
        for row in rows
    }


def _tables(dialect: SqlDialect) -> str:
    return f"WITH k AS MATERIALIZED ({dialect.fenced()}), t AS MATERIALIZED ({dialect.now_after_locks})"


def _insert(dialect: SqlDialect) -> str:
    dated = f"{dialect.least}(n.made_at, t.now)"
    return (
        "INSERT INTO detections (event_id, idx, tenant_id, site_id, camera_uuid, generation, made_at, stored_at,"
        " is_late, label, confidence, box, track_id, zones)"
        f" SELECT n.event_id, n.idx, k.tenant_id, k.site_id, k.camera_uuid, k.generation, {dated}, t.now,"
        " k.next_at IS NOT NULL, n.label, n.confidence, n.box, n.track_id, n.zones"
        f" FROM {dialect.listed(*_SEEN, is_numbered=True)} CROSS JOIN t JOIN k ON k.stamp = n.stamp"
        f" WHERE NOT k.is_busy AND (k.next_at IS NULL OR {dated} < k.next_at)"
        " ORDER BY n.place ON CONFLICT (event_id, idx) DO NOTHING RETURNING detection_id"
    )


def _admit(dialect: SqlDialect) -> Statement:
    return statement(f"{_tables(dialect)} {_insert(dialect)}", returns="detection_id")


def _admit_and_tell(dialect: SqlDialect) -> Statement:
    """One row: what was stored, and which cameras were left out. Ids rise as the rows were ordered."""
    return statement(
        f"{_tables(dialect)}, stored AS ({_insert(dialect)}, is_late)"
        " SELECT t.now, ARRAY(SELECT k.camera_uuid FROM k WHERE k.is_busy) AS busy, told.* FROM t CROSS JOIN"
        " (SELECT array_agg(detection_id ORDER BY detection_id) AS ids,"
        " array_agg(is_late ORDER BY detection_id) AS late FROM stored) AS told"
    )


def _find(dialect: SqlDialect) -> Statement:
    """What is stored, just now or long ago."""
    return statement(
        f"SELECT {_STORED.columns} FROM {dialect.listed(*_KEYED)}"
        " CROSS JOIN detections AS d WHERE d.event_id = n.event_id AND d.idx = n.idx",
        _STORED,
    )
