"""Detections into SQL: the fence is a condition of the statement that stores them.

`leases.fence` as SQL. A stamp is what detections of one camera and generation have in common; the database looks at
each once. On PostgreSQL the statement keeps every camera that it names from being granted anew until it has committed,
and its moment is read after that. A camera that is just being granted is left out, and then waited for by itself: so
nobody waits for one lock while holding another, and no camera holds up a group.

The differential test in `tests/conformance` holds this module to the Python rule.
"""
# ruff: noqa: S608 - the parts are this package's own constants; values are always bound

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any

from streamward.drivers.sql.database import Database
from streamward.drivers.sql.dialect import STAMPED, SqlDialect
from streamward.drivers.sql.statement import Shape, Statement, statement
from streamward.insight.store import Seen, Stored, in_turn

_KEYED = ("event_id", "idx")
_SEEN = ("place", "stamp", *_KEYED, "made_at", "label", "confidence", "x_from", "y_from", "x_to", "y_to")
_STORED = Shape("d", "detection_id event_id idx made_at is_late")
_KNOWN = Shape("d", "detection_id event_id idx made_at is_late batch_id")
_LARGEST = 2**63  # no generation comes so far, and no column holds it

Key = tuple[str, int]
Offered = Mapping[Key, Seen]


@dataclass(slots=True)
class Answer:
    """What one statement stored, when, and which stamps it left out."""

    at: datetime
    stored: dict[Key, Stored] = field(default_factory=dict)
    busy: frozenset[int] = frozenset()


class Admission:
    """Puts detections into one database."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._admit = _admit_and_tell(database.dialect) if database.is_postgres else _admit(database.dialect)
        self._known = statement(
            f"SELECT {_KNOWN.columns} FROM {database.dialect.listed(*_KEYED)}"
            " CROSS JOIN detections AS d WHERE d.event_id = n.event_id AND d.idx = n.idx",
            _KNOWN,
        )

    async def admit(self, seen: Sequence[Seen]) -> Answer:
        """What became of each that was not refused."""
        offered = {
            (seen[place].event_id, seen[place].index): seen[place]
            for place in in_turn(seen)
            if 0 < seen[place].generation < _LARGEST
        }
        stamps = _stamps(offered.values())
        answer = await self._store(offered, stamps, may_wait=False)
        for stamp in sorted(answer.busy):
            waiting = {key: each for key, each in offered.items() if stamps[_stamp(each)] == stamp}
            answer.stored |= (await self._store(waiting, _stamps(waiting.values()), may_wait=True)).stored
        if len(answer.stored) < len(offered):
            answer.stored |= await self._find([key for key in offered if key not in answer.stored])
        return answer

    async def _store(self, offered: Offered, stamps: Mapping[tuple[Any, ...], int], *, may_wait: bool) -> Answer:
        pack = self._db.dialect.pack
        params = {
            **pack(STAMPED, [(number, *stamp) for stamp, number in stamps.items()], alias="m"),
            **pack(_SEEN, [_row(place, each, stamps) for place, each in enumerate(offered.values())]),
            **self._db.moment(),
        }
        async with self._db.session(is_single=True) as session:
            if self._db.is_postgres:
                [row] = await session.rows(self._admit, {**params, "may_wait": may_wait})
                return Answer(at=row.now, stored=dict(_told(row)), busy=frozenset(row.busy))
            at = await self._db.now(session)
            rows = await session.rows(self._admit, params) if offered else ()
        return Answer(at=at, stored={(row.d_event_id, row.d_idx): _stored(row) for row in rows})

    async def _find(self, keys: Sequence[Key]) -> dict[Key, Stored]:
        """Those that were there before, or were stored by somebody else at the same moment."""
        async with self._db.session(is_single=True) as session:
            rows = await session.rows(self._known, self._db.dialect.pack(_KEYED, keys))
        return {(row.d_event_id, row.d_idx): _stored(row, is_new=False, batch_id=row.d_batch_id) for row in rows}


def _stamp(seen: Seen) -> tuple[Any, ...]:
    return (seen.camera_id, seen.generation, seen.runner_id, seen.incarnation, seen.tenant_id, seen.site_id)


def _stamps(seen: Iterable[Seen]) -> dict[tuple[Any, ...], int]:
    """Every stamp, numbered from one in the order of cameras."""
    return {stamp: number for number, (stamp, _) in enumerate(groupby(sorted(map(_stamp, seen))), start=1)}


def _row(place: int, seen: Seen, stamps: Mapping[tuple[Any, ...], int]) -> tuple[object, ...]:
    what = seen.detection
    return (
        place,
        stamps[_stamp(seen)],
        seen.event_id,
        seen.index,
        seen.made_at,
        what.label.replace("\0", "\N{REPLACEMENT CHARACTER}"),  # which PostgreSQL has no room for
        what.confidence,
        what.box.x1,
        what.box.y1,
        what.box.x2,
        what.box.y2,
    )


def _stored(row: Any, *, is_new: bool = True, batch_id: Any = None) -> Stored:
    return Stored(
        detection_id=row.d_detection_id,
        made_at=row.d_made_at,
        is_late=bool(row.d_is_late),
        is_new=is_new,
        batch_id=batch_id,
    )


def _told(row: Any) -> Iterable[tuple[Key, Stored]]:
    """Arrays of one row; the array of nothing is NULL."""
    columns = (row.ids or (), row.events or (), row.places or (), row.moments or (), row.late or ())
    for detection_id, event_id, index, made_at, is_late in zip(*columns, strict=True):
        yield (
            (event_id, index),
            Stored(detection_id=detection_id, made_at=made_at, is_late=is_late, is_new=True, batch_id=None),
        )


def _tables(dialect: SqlDialect) -> str:
    return f"WITH k AS MATERIALIZED ({dialect.fenced()}), t AS MATERIALIZED ({dialect.now_after_locks})"


def _insert(dialect: SqlDialect) -> str:
    dated = f"{dialect.least}(n.made_at, t.now)"
    return (
        "INSERT INTO detections (event_id, idx, tenant_id, site_id, camera_uuid, generation, made_at, stored_at,"
        " is_late, label, confidence, x_from, y_from, x_to, y_to)"
        f" SELECT n.event_id, n.idx, k.tenant_id, k.site_id, k.camera_uuid, k.generation, {dated}, t.now,"
        " k.next_at IS NOT NULL, n.label, n.confidence, n.x_from, n.y_from, n.x_to, n.y_to"
        f" FROM {dialect.listed(*_SEEN)} CROSS JOIN t JOIN k ON k.stamp = n.stamp"
        f" WHERE NOT k.is_busy AND (k.next_at IS NULL OR {dated} < k.next_at)"
        " ORDER BY n.place ON CONFLICT (event_id, idx) DO NOTHING"
    )


def _admit(dialect: SqlDialect) -> Statement:
    return statement(f"{_tables(dialect)} {_insert(dialect)} {dialect.returning('d', *_STORED.names)}", _STORED)


def _admit_and_tell(dialect: SqlDialect) -> Statement:
    """One row of arrays: what was stored, and which stamps were left out."""
    return statement(
        f"{_tables(dialect)}, stored AS ({_insert(dialect)} RETURNING {', '.join(_STORED.names)})"
        " SELECT t.now, ARRAY(SELECT k.stamp FROM k WHERE k.is_busy) AS busy, told.* FROM t CROSS JOIN"
        " (SELECT array_agg(detection_id) AS ids, array_agg(event_id) AS events, array_agg(idx) AS places,"
        " array_agg(made_at) AS moments, array_agg(is_late) AS late FROM stored) AS told"
    )
