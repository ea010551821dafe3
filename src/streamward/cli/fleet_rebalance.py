"""`streamward fleet rebalance`: starts the moves that balance a fleet, and follows them until they are done."""

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from streamward.cli.failure import CommandFailed
from streamward.cli.output import cell

PATIENCE = 40.0  # seconds for a round: its handovers end after 25, and streams are reported within 5
MOST_ROUNDS = 100
_LOOK_EVERY = 0.25  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A camera that streams at its new runner."""

    camera_uuid: str
    from_runner: str
    to_runner: str
    gap_s: float  # from the last report of the old runner to the first of the new one: the true gap is shorter


@dataclass(slots=True)
class Progress:
    """The moves of all rounds."""

    moved: list[Moved] = field(default_factory=list)
    stayed: list[str] = field(default_factory=list)
    left: int = 0


class Round:
    """The moves of one round, until each camera streams at its new runner."""

    def __init__(self, moves: Sequence[Any], rows: Sequence[Any]) -> None:
        from streamward.protocol.ownership import Ownership

        self.waiting = {move.camera_uuid: move for move in moves}
        self._ownership = Ownership()
        list(self._ownership.observe(rows))

    def observe(self, rows: Sequence[Any]) -> Iterator[Moved]:
        """Those that have arrived; a camera that went elsewhere meanwhile is not waited for."""
        for change in self._ownership.observe(rows):
            move = self.waiting.pop(change.camera, None)
            if move is not None:
                yield Moved(
                    camera_uuid=change.camera,
                    from_runner=move.from_runner,
                    to_runner=change.after,
                    gap_s=round(change.gap, 2),
                )


def rebalance(*, dry_run: bool, wait: bool, as_json: bool) -> None:
    """Asks for a round, or for rounds until none is needed."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.fleet import read

    link = connect(token_for=30.0)
    rows, _ = read(link)
    answer = _ask(link, dry_run=dry_run)
    if dry_run or not wait:
        _print_started(answer, rows, as_json=as_json)
        return
    progress = Progress()
    say = output.say if as_json else _print
    for _ in range(MOST_ROUNDS):
        _follow(link, answer, rows, progress, say)
        progress.left = answer.left
        if progress.stayed or not answer.moves or not answer.left:  # after a failure no more cameras are moved
            break
        rows, _ = read(link)
        answer = _ask(link, dry_run=False)
    _print_result(progress, read(link)[0], as_json=as_json)


def _ask(link: Any, *, dry_run: bool) -> Any:
    from streamward.cli.link import place
    from streamward.protocol.rebalancing import FleetRebalanced, RebalanceFleet

    return link.post(place("v1", "fleet", "rebalance"), RebalanceFleet(dry_run=dry_run), FleetRebalanced).body


def _follow(link: Any, answer: Any, rows: Sequence[Any], progress: Progress, say: Any) -> None:
    """Waits for one round."""
    from streamward.cli.fleet import read

    this = Round(answer.moves, rows)
    last = time.monotonic() + PATIENCE
    while this.waiting and time.monotonic() < last:
        with contextlib.suppress(CommandFailed):  # a control plane that is busy is asked again
            for each in this.observe(read(link)[0]):
                progress.moved.append(each)
                names = cell(each.camera_uuid), cell(each.from_runner), cell(each.to_runner)
                say(f"{names[0]}: {names[1]} to {names[2]}, gap at most {each.gap_s:.1f} s")
        time.sleep(_LOOK_EVERY)
    progress.stayed += sorted(this.waiting)


def _print(line: str) -> None:
    print(line, flush=True)


def _print_started(answer: Any, rows: Sequence[Any], *, as_json: bool) -> None:
    from streamward.cli import output

    after = shares(rows, {move.camera_uuid: move.to_runner for move in answer.moves})
    if as_json:
        output.print_json({"dry_run": answer.dry_run, "moves": answer.moves, "left": answer.left, "runners": after})
        return
    for move in answer.moves:
        print(f"{cell(move.camera_uuid)}: {cell(move.from_runner)} to {cell(move.to_runner)}")
    counted, verb = _counted(len(answer.moves)), "would move" if answer.dry_run else "move"
    if not answer.moves and not answer.left:
        print(f"nothing to move: {_listed(after)}")
    else:
        print(f"{counted} {verb}: then {_listed(after)}{_more(answer.left)}", flush=True)


def _print_result(progress: Progress, rows: Sequence[Any], *, as_json: bool) -> None:
    from streamward.cli import output

    runners = shares(rows, {})
    if as_json:
        moved = list(map(asdict, progress.moved))
        output.print_json({"moved": moved, "stayed": progress.stayed, "left": progress.left, "runners": runners})
    elif progress.moved:
        longest = max(each.gap_s for each in progress.moved)
        moved_count = _counted(len(progress.moved))
        print(f"{moved_count} moved: {_listed(runners)}; longest gap at most {longest:.1f} s", flush=True)
    elif not progress.stayed:
        print(f"nothing to move: {_listed(runners)}{_more(progress.left)}", flush=True)
    if progress.stayed:
        raise CommandFailed(
            f"{_counted(len(progress.stayed))} did not move in time, and stayed or went elsewhere: "
            f"`streamward cameras why {progress.stayed[0]}` tells why; run the command again after a minute"
        )


def shares(rows: Sequence[Any], moves: dict[str, str]) -> dict[str, int]:
    """How many cameras each runner has, when these have moved."""
    owners = [moves.get(row.camera_uuid, row.owner_id) for row in rows]
    counts = Counter(each for each in owners if each is not None)
    for row in rows:  # a runner that gives its last camera away has none
        if row.owner_id is not None:
            counts.setdefault(row.owner_id, 0)
    return dict(sorted(counts.items()))


def _listed(runners: dict[str, int]) -> str:
    return ", ".join(f"{count} at {cell(runner_id)}" for runner_id, count in runners.items()) or "no cameras"


def _more(left: int) -> str:
    return f" ({left} more to move: run it again, or with --wait)" if left else ""


def _counted(cameras: int) -> str:
    return "1 camera" if cameras == 1 else f"{cameras} cameras"
