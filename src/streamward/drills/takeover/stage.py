"""How every drill with a fleet of its own is run: the fleet starts, the drill plays, what it came to is printed."""

import signal
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from streamward.drills.figures import Objective
from streamward.drills.roles import folder, ran
from streamward.drills.takeover.fleet import Fleet, FleetSpec, fleet
from streamward.drills.takeover.sink import say


class Account(Protocol):
    """What a drill came to."""

    @property
    def objectives(self) -> Sequence[Objective]: ...


A = TypeVar("A", bound=Account)
F = TypeVar("F")
Play = Callable[[F], Coroutine[Any, Any, A]]
Start = Callable[[Path], AbstractContextManager[F]]


def play(drill: Play[Fleet, A], made: FleetSpec, *, called: str, data: Path | None, show: Callable[[A], str]) -> int:
    """Runs it with the fleet of a takeover drill and prints what it came to; 1 if an objective was missed."""
    return perform(drill, lambda place: fleet(replace(made, folder=place)), called=called, data=data, show=show)


def perform(drill: Play[F, A], start: Start[F], *, called: str, data: Path | None, show: Callable[[A], str]) -> int:
    """The same with any fleet."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended like this, too, it ends what it started
    with folder(data, called=called) as place, start(place) as serving:
        account = ran(drill(serving))
    say("")
    print(show(account))  # noqa: T201
    return 0 if all(each.is_met for each in account.objectives) else 1
