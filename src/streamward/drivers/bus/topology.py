"""Queues and bindings, read again when any process has changed them."""

import sqlite3
from dataclasses import dataclass

from streamward.model.bus import Overflow, Queue, QueueRefused
from streamward.model.topic import matches

_MOST_REMEMBERED = 10_000  # routing keys


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue as the file has it."""

    id: int
    name: str
    ttl_ms: int | None
    most: int | None
    overflow: Overflow


class Topology:
    """Who wants what, as of the present transaction."""

    def __init__(self) -> None:
        self._version = -1
        self._by_name: dict[str, QueueRow] = {}
        self._bindings: list[tuple[QueueRow, str, str]] = []
        self._wanting: dict[tuple[str, str], list[QueueRow]] = {}

    def refresh(self, connection: sqlite3.Connection) -> None:
        """Reads what has changed since it was last read."""
        (version,) = connection.execute("SELECT topology FROM counters").fetchone()
        if version == self._version:
            return
        rows = connection.execute("SELECT id, name, ttl_ms, most, overflow FROM queues")
        by_id = {row[0]: QueueRow(row[0], row[1], row[2], row[3], Overflow(row[4])) for row in rows}
        bound = connection.execute("SELECT queue, exchange, pattern FROM bindings")
        self._bindings = [(by_id[queue], exchange, pattern) for queue, exchange, pattern in bound]
        self._by_name = {row.name: row for row in by_id.values()}
        self._wanting.clear()
        self._version = version

    def named(self, name: str) -> QueueRow:
        """The queue of that name; raises QueueRefused."""
        if name not in self._by_name:
            raise QueueRefused(name, "there is none")
        return self._by_name[name]

    def wanting(self, exchange: str, routing_key: str) -> list[QueueRow]:
        """The queues that get a message with this address."""
        key = (exchange, routing_key)
        if key not in self._wanting:
            if len(self._wanting) >= _MOST_REMEMBERED:
                self._wanting.clear()
            rows = {
                row.id: row
                for row, bound, pattern in self._bindings
                if bound == exchange and matches(pattern, routing_key)
            }
            self._wanting[key] = list(rows.values())
        return self._wanting[key]

    def declare(self, connection: sqlite3.Connection, queue: Queue) -> None:
        """Makes the queue if it is not there, and adds its bindings; raises QueueRefused."""
        ttl = None if queue.message_ttl is None else int(queue.message_ttl * 1000)
        wanted = (ttl, queue.most, queue.overflow)
        there = self._by_name.get(queue.name)
        if there is not None and (there.ttl_ms, there.most, there.overflow) != wanted:
            raise QueueRefused(queue.name, "it is there with other limits")
        if there is None:
            connection.execute(
                "INSERT INTO queues (name, ttl_ms, most, overflow) VALUES (?, ?, ?, ?)", (queue.name, *wanted)
            )
        connection.executemany(
            "INSERT OR IGNORE INTO bindings SELECT id, ?, ? FROM queues WHERE name = ?",
            [(binding.exchange, binding.pattern, queue.name) for binding in queue.bindings],
        )
        connection.execute("UPDATE counters SET topology = topology + 1")
        self.refresh(connection)
