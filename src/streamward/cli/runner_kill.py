"""`streamward runners kill`: ends a runner of this host by force, and tells how long each of its cameras was away."""

import contextlib
import os
import signal
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from streamward.cli.failure import CommandFailed
from streamward.cli.output import cell

PATIENCE = 60.0  # seconds in which cameras that can go elsewhere have gone
_LOOK_EVERY = 0.25  # seconds


class NotHere(CommandFailed):
    """A runner that is no process of this host."""

    def __init__(self, runner: str, data: Path) -> None:
        super().__init__(
            f"runner {runner} does not run on this host with its data in {data}, and only such a one can be killed: "
            f"set STREAMWARD_DATA to its folder; `streamward runners drain {runner} hard` takes its cameras from afar"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """A camera that streams again."""

    camera_uuid: str
    owner_id: str
    version: int
    gap_s: float  # from the kill to the first report that it streams

    def __str__(self) -> str:
        where = f"{cell(self.camera_uuid)} streams at {cell(self.owner_id)}, generation {self.version}"
        return f"{where}, {self.gap_s:.1f} s after the kill"


class Takeover:
    """The cameras of a runner that was killed, until each streams again."""

    def __init__(self, held: Sequence[Any], *, killed_at: datetime) -> None:
        self.waiting = {row.camera_uuid: row.version for row in held}
        self._killed_at = killed_at

    def observe(self, rows: Sequence[Any]) -> Iterator[Moved]:
        """Those that stream under a later generation than that of the dead."""
        from streamward.protocol.lease_listing import streams

        for row in rows:
            if streams(row) and row.version > self.waiting.get(row.camera_uuid, row.version):
                del self.waiting[row.camera_uuid]
                gap = (row.stream.ts - self._killed_at).total_seconds()
                yield Moved(
                    camera_uuid=row.camera_uuid,
                    owner_id=row.owner_id,
                    version=row.version,
                    gap_s=round(max(0.0, gap), 2),
                )


def kill(runner: str, *, is_whole: bool, as_json: bool) -> None:
    """Reads who has what, kills, and looks until all stream again."""
    from streamward.cli import output
    from streamward.cli.connect import connect
    from streamward.cli.fleet import read
    from streamward.settings import load

    settings = load()
    link = connect(settings, token_for=30.0)
    card = _card(link, runner, settings.data)
    rows, at = read(link)
    looked = time.monotonic()
    held = [row for row in rows if row.owner_id == runner]
    killed = _kill_whole(card) if is_whole else _kill_top(card)
    takeover = Takeover(held, killed_at=at + timedelta(seconds=time.monotonic() - looked))
    say = output.say if as_json else _print
    say(f"killed {killed} of {runner}, which had {_counted(len(held))}")
    moved = []
    for each in _watched(link, takeover):
        say(str(each))
        moved.append(each)
    _sum_up(runner, moved, sorted(takeover.waiting), as_json=as_json)


def _print(line: str) -> None:
    print(line, flush=True)


def _card(link: Any, runner: str, data: Path) -> Any:
    """Its processes; one that nobody knows is told as such first."""
    from streamward.cli.link import place
    from streamward.protocol.leases import RunnerFlags
    from streamward.runner.card import find

    link.get(place("v1", "runners", runner), RunnerFlags)
    card = find(data, runner)
    if card is None:
        raise NotHere(runner, data)
    return card


def _sum_up(runner: str, moved: list[Moved], waiting: list[str], *, as_json: bool) -> None:
    from streamward.cli import output

    if as_json:
        output.print_json({"runner_id": runner, "moved": list(map(asdict, moved)), "waiting": waiting})
    elif moved:
        gaps = [each.gap_s for each in moved]
        print(f"{_counted(len(moved))} moved: median {statistics.median(gaps):.1f} s, longest {max(gaps):.1f} s")
    if waiting:
        raise CommandFailed(
            f"{_counted(len(waiting))} did not stream again within {PATIENCE:.0f} s: "
            f"`streamward cameras why {waiting[0]}` tells why"
        )


def _watched(link: Any, takeover: Takeover) -> Iterator[Moved]:
    from streamward.cli.fleet import read

    last = time.monotonic() + PATIENCE
    while takeover.waiting and time.monotonic() < last:
        with contextlib.suppress(CommandFailed):  # a control plane that is busy is asked again
            yield from takeover.observe(read(link)[0])
        time.sleep(_LOOK_EVERY)


def _kill_top(card: Any) -> str:
    """Its parent ends the rest, and gives the leases back."""
    os.kill(card.manager, signal.SIGKILL)
    return f"the Manager (process {card.manager})"


def _kill_whole(card: Any) -> str:
    """All at once, as when the host dies: they stand first, so that none sees another go and puts things in order."""
    standing: list[int] = []
    while more := [pid for pid in card.tree() if pid not in standing]:
        for pid in more:
            _signal(pid, signal.SIGSTOP)
        standing += more
    for pid in standing:
        _signal(pid, signal.SIGKILL)
    return f"all {len(standing)} processes"


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _counted(cameras: int) -> str:
    return "1 camera" if cameras == 1 else f"{cameras} cameras"
