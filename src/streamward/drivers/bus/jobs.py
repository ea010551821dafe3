"""What is asked of the file: each function is a part of one transaction, and reads what the parts before it wrote."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from streamward.drivers.bus.owners import Owners
from streamward.drivers.bus.topology import QueueRow, Topology
from streamward.model.bus import Delivery, Overflow, Published, Refused
from streamward.model.message import Message
from streamward.runtime.clock import Clock

_SOME_PAGES = 256  # given back to the disk at a time

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Message)


@dataclass(slots=True, kw_only=True)
class Session:
    """An open file, and the queues that the present transaction put something into."""

    connection: sqlite3.Connection
    owners: Owners
    clock: Clock
    topology: Topology = field(default_factory=Topology)
    filled: set[str] = field(default_factory=set)

    def now_ms(self) -> int:
        return int(self.clock.wall().timestamp() * 1000)


def encode(message: Message) -> bytes:
    """As it lies in the file."""
    return _encoder.encode(message)


def publish(session: Session, message: Message, encoded: bytes) -> Published | Refused:
    """A row for each queue that wants it."""
    wanting = session.topology.wanting(message.exchange, message.routing_key)
    if message.is_mandatory and not wanting:
        return Refused("no queue wants it")
    entered = [_enter(session, row, message.expires_in, encoded) for row in wanting]
    return Published() if all(entered) else Refused("not confirmed")


def _enter(session: Session, row: QueueRow, expires_in: float | None, encoded: bytes) -> bool:
    is_full = row.most is not None and _ready(session, row) >= row.most
    if is_full and row.overflow is Overflow.REJECT_PUBLISH:
        return False
    own = None if expires_in is None else int(expires_in * 1000)
    lives = [each for each in (row.ttl_ms, own) if each is not None]
    session.connection.execute(
        "INSERT INTO entries (queue, expires_at, message) VALUES (?, ?, ?)",
        (row.id, session.now_ms() + min(lives) if lives else None, encoded),
    )
    if is_full:
        session.connection.execute(
            "DELETE FROM entries WHERE id = "
            "(SELECT id FROM entries INDEXED BY entries_ready WHERE queue = ? AND owner IS NULL ORDER BY id LIMIT 1)",
            (row.id,),
        )
    session.filled.add(row.name)
    return True


def waiting(session: Session, queue: str) -> int:
    """How many entries of a queue have no owner."""
    return _ready(session, session.topology.named(queue))


def _ready(session: Session, row: QueueRow) -> int:
    expire(session)
    (ready,) = session.connection.execute("SELECT ready FROM queues WHERE id = ?", (row.id,)).fetchone()
    return int(ready)


def expire(session: Session) -> None:
    """Nobody gets any more what has had its time; what a consumer has in hand stays there."""
    session.connection.execute(
        "DELETE FROM entries INDEXED BY entries_mortal WHERE expires_at <= ? AND owner IS NULL", (session.now_ms(),)
    )


def new_owner(session: Session) -> int:
    """A number that nobody had before, with its lock held."""
    while True:
        query = "UPDATE counters SET owners = owners + 1 RETURNING owners"
        ((owner,),) = session.connection.execute(query).fetchall()
        if session.owners.hold(owner):
            return int(owner)


def claim(session: Session, queue: str, owner: int, *, at_most: int) -> list[Delivery]:
    """The oldest that nobody has, now this owner's."""
    row = session.topology.named(queue)
    expire(session)
    rows = session.connection.execute(
        "UPDATE entries SET owner = ?, deliveries = deliveries + 1 WHERE id IN "
        "(SELECT id FROM entries INDEXED BY entries_ready WHERE queue = ? AND owner IS NULL ORDER BY id LIMIT ?) "
        "RETURNING id, deliveries, message",
        (owner, row.id, at_most),
    ).fetchall()
    return [
        Delivery(_decoder.decode(message), is_redelivered=deliveries > 1, tag=place)
        for place, deliveries, message in sorted(rows)
    ]


def acknowledge(session: Session, owner: int, places: Sequence[int]) -> None:
    """They are gone, if they are still this owner's."""
    session.connection.executemany("DELETE FROM entries WHERE id = ? AND owner = ?", [(each, owner) for each in places])


def give_back(session: Session, queue: str, owner: int, places: Sequence[int]) -> None:
    """They are nobody's, if they were this owner's."""
    session.connection.executemany(
        "UPDATE entries SET owner = NULL WHERE id = ? AND owner = ?", [(each, owner) for each in places]
    )
    session.filled.add(queue)


def release(session: Session, owner: int) -> None:
    """Nothing is this owner's any more."""
    changed = session.connection.execute("UPDATE entries SET owner = NULL WHERE owner = ? RETURNING queue", (owner,))
    ids = {queue for (queue,) in changed.fetchall()}
    names = session.connection.execute("SELECT id, name FROM queues")
    session.filled.update(name for number, name in names.fetchall() if number in ids)


def dead_owners(session: Session, *, but: set[int]) -> list[int]:
    """Those who have something in hand and do not live."""
    rows = session.connection.execute("SELECT DISTINCT owner FROM entries WHERE owner IS NOT NULL").fetchall()
    return [owner for (owner,) in rows if owner not in but and not session.owners.is_alive(owner)]


def has_ready(session: Session, queue: str) -> bool:
    """Whether something waits; may be out of date at once."""
    query = "SELECT ready > 0 FROM queues WHERE name = ?"
    return any(bool(found) for (found,) in session.connection.execute(query, (queue,)).fetchall())


def is_untidy(session: Session) -> bool:
    """Whether something has had its time, or the file has pages that nobody uses."""
    query = "SELECT EXISTS (SELECT 1 FROM entries WHERE expires_at <= ? AND owner IS NULL)"
    (expired,) = session.connection.execute(query, (session.now_ms(),)).fetchone()
    (free,) = session.connection.execute("PRAGMA freelist_count").fetchone()
    return bool(expired) or free > _SOME_PAGES


def give_pages_back(session: Session) -> None:
    """Makes the file a little smaller."""
    # As a script: it yields rows without columns, one for each page, at the first of which `execute` would stop.
    session.connection.executescript(f"PRAGMA incremental_vacuum({_SOME_PAGES})")
