"""Parts a list so that no row comes twice in one statement, and each comes in its turn."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T")


def waves(items: Iterable[T], *, key: Callable[[T], Hashable]) -> list[list[T]]:
    """The first of each key, then the second of each, …; nearly always one wave."""
    parted: list[list[T]] = []
    seen: dict[Hashable, int] = {}
    for item in items:
        turn = seen.get(key(item), 0)
        seen[key(item)] = turn + 1
        if turn == len(parted):
            parted.append([])
        parted[turn].append(item)
    return parted
