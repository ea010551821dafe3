"""What a call costs: the methods of a store that it called, or the statements that it sent."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from streamward.drivers.sql import SqlStore
from streamward.leases.store import Store


class Tally:
    """A list of what was done, to be emptied and read."""

    def __init__(self) -> None:
        self.done: list[str] = []

    @contextmanager
    def of_one(self) -> Iterator[list[str]]:
        """What was done in between."""
        self.done.clear()
        yield (done := [])
        done.extend(self.done)

    def watch(self, store: SqlStore) -> Store:
        """Notes the statements of a SQLite store."""

        @event.listens_for(store._db.engine.sync_engine, "before_cursor_execute")
        def note(*told: Any) -> None:
            self.done.append(re.sub(r"\s+", " ", told[2]))

        return store

    def around(self, store: Store) -> Any:
        """The store, with each call noted."""
        return _Noted(store, self)


class _Noted:
    def __init__(self, store: Store, tally: Tally) -> None:
        self._store = store
        self._tally = tally

    def __getattr__(self, name: str) -> Any:
        self._tally.done.append(name)
        return getattr(self._store, name)
