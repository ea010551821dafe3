"""One page of a listing: what is shown, and the cursor with which it goes on."""

from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from streamward.control.cursor import Cursors

T = TypeVar("T")


class Paged(Protocol):
    """What every query of a listing has."""

    @property
    def limit(self) -> int: ...
    @property
    def cursor(self) -> str | None: ...


async def page_of(
    query: Paged,
    fetch: Callable[[str | None, int], Awaitable[list[T]]],
    *,
    cursors: Cursors,
    filters: list[Any],
    key: Callable[[T], object],
) -> tuple[list[T], str | None]:
    """Fetches what comes after the query's cursor, which is good only for the listing with the same filters."""
    after = None if query.cursor is None else cursors.open(query.cursor, filters=filters)
    found = await fetch(after, query.limit + 1)  # one more tells whether another page follows
    shown = found[: query.limit]
    return shown, cursors.seal(str(key(shown[-1])), filters=filters) if len(found) > len(shown) else None
