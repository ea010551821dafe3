"""Whether one order of a camera's operations explains every answer that its clients got.

Each operation takes effect at one moment between its call and its answer. One whose outcome is unknown may have
happened at any moment after its call, or not at all. The grants that the database noted say who got which generation.
The search follows Wing and Gong: try every operation that may come next, and remember which situations were in vain.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from streamward.leases.lease import Owner


class Verb(StrEnum):
    ACQUIRE = "acquire"
    RENEW = "renew"
    RELEASE = "release"


UNKNOWN = "unknown"
REFUSED = "refused"  # held, lost, or nothing to release
Answer = int | str  # a generation, or one of the two above


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What one client did to one camera; leases outlast the history, so nothing expires in it."""

    verb: Verb
    owner: Owner
    generation: int = 0  # the grant that it names
    answer: Answer
    called_at: float
    answered_at: float


@dataclass(frozen=True, slots=True)
class _Present:
    generation: int = 0
    owner: Owner | None = None


def is_explained(operations: Sequence[Operation], grants: Mapping[int, Owner]) -> bool:
    """Whether such an order exists."""
    return _Search(operations, grants).succeeds()


class _Search:
    def __init__(self, operations: Sequence[Operation], grants: Mapping[int, Owner]) -> None:
        self._operations = operations
        self._grants = grants
        self._in_vain: set[tuple[frozenset[int], _Present]] = set()

    def succeeds(self) -> bool:
        stack = [(frozenset(range(len(self._operations))), _Present())]
        while stack:
            left, present = stack.pop()
            if self._is_done(left, present):
                return True
            if (left, present) in self._in_vain:
                continue
            self._in_vain.add((left, present))
            stack.extend(self._next(left, present))
        return False

    def _is_done(self, left: frozenset[int], present: _Present) -> bool:
        answered = any(self._operations[number].answer != UNKNOWN for number in left)
        return not answered and present.generation == len(self._grants)

    def _next(self, left: frozenset[int], present: _Present) -> list[tuple[frozenset[int], _Present]]:
        deadline = min((self._ends_at(number) for number in left), default=0.0)
        found = []
        for number in left:
            operation = self._operations[number]
            after, answer = _applied(operation, present)
            fits = operation.answer == answer or (operation.answer == UNKNOWN and after != present)
            if operation.called_at <= deadline and fits and self._is_granted(present, after):
                found.append((left - {number}, after))
        return found

    def _ends_at(self, number: int) -> float:
        operation = self._operations[number]
        return float("inf") if operation.answer == UNKNOWN else operation.answered_at

    def _is_granted(self, before: _Present, after: _Present) -> bool:
        return after.generation == before.generation or self._grants.get(after.generation) == after.owner


def _applied(operation: Operation, present: _Present) -> tuple[_Present, Answer]:
    """What the rule makes of it."""
    is_mine = present.owner == operation.owner
    if operation.verb is Verb.ACQUIRE:
        if present.owner is None:
            return _Present(present.generation + 1, operation.owner), present.generation + 1
        return present, present.generation if is_mine else REFUSED
    if not is_mine or operation.generation != present.generation:
        return present, REFUSED
    if operation.verb is Verb.RENEW:
        return present, present.generation
    return _Present(present.generation, None), present.generation
