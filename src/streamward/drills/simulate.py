"""`streamward drill simulate`: many seeds of the simulation on all cores, and what they showed."""

import gc
import json
import os
import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED as FIRST
from concurrent.futures import Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from itertools import islice

from streamward.drills.simulation.bugs import BUGS
from streamward.drills.simulation.faults import apply
from streamward.drills.simulation.world import REAL, Outcome, World
from streamward.model.errors import StreamwardError

CHUNK = 5  # seeds that a process takes at once
TOLD = 10  # failing seeds that are printed in full


@dataclass(slots=True)
class Summary:
    """What a set of seeds showed."""

    seeds: int = 0
    simulated_hours: float = 0.0
    grants: int = 0
    live: int = 0
    late: int = 0
    refused: int = 0
    seconds: float = 0.0
    failing: dict[int, str] = field(default_factory=dict)  # seed → first violation

    def add(self, outcome: Outcome) -> None:
        self.seeds += 1
        self.simulated_hours += outcome.simulated / 3600
        self.grants += outcome.tally.grants
        self.live += outcome.tally.live
        self.late += outcome.tally.late
        self.refused += outcome.tally.refused
        if outcome.violations:
            self.failing[outcome.seed] = str(outcome.violations[0])


def simulate(seed: int, bug: str | None = None) -> Outcome:
    """One seed, with the real code or with a planted bug."""
    if bug is not None and bug not in BUGS:
        raise UnknownBug(bug)
    return World(seed, BUGS[bug].parts if bug else REAL).run(apply)


def run(seeds: Sequence[int], *, bug: str | None = None, at_least: int | None = None, within: float = 1e9) -> Summary:
    """Runs seeds on all cores: all of them, or as many as fit into `within` seconds but never under `at_least`."""
    started = time.monotonic()
    summary = Summary()
    needed = len(seeds) if at_least is None else at_least
    chunks = _chunks(seeds)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        running = {pool.submit(_simulate_some, chunk, bug) for chunk in islice(chunks, 2 * (os.cpu_count() or 1))}
        while running:
            done, running = wait(running, return_when=FIRST)
            _collect(done, summary)
            _progress(summary, of=len(seeds), started=started)
            in_time = time.monotonic() - started < within
            going_to_run = summary.seeds + CHUNK * len(running)
            if (in_time or going_to_run < needed) and not (bug and summary.failing):
                running |= {pool.submit(_simulate_some, chunk, bug) for chunk in islice(chunks, len(done))}
    summary.seconds = time.monotonic() - started
    return summary


class UnknownBug(StreamwardError):
    """A bug was to be planted that nobody has written."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no bug {self.name!r} to plant: `streamward drill simulate --bug list` names them"


def trace(seed: int, bug: str | None = None) -> str:
    """Everything that happened in one seed, and what was wrong with it."""
    outcome = simulate(seed, bug)
    return "\n".join([*outcome.trace, "", *map(str, outcome.violations or ("no violation",))])


def list_bugs() -> str:
    """The bugs that can be planted."""
    return "\n".join(f"{name:<32}{bug.says}" for name, bug in BUGS.items())


def main(*, seeds: int, as_json: bool = False, start: int | None = None, bug: str | None = None) -> int:
    """Runs so many seeds and prints the summary; 1 if an invariant did not hold."""
    first = secrets.randbelow(2**40) if start is None else start
    summary = run(range(first, first + seeds), bug=bug)
    again = f" --bug {bug}" if bug else ""
    print(json.dumps({"first_seed": first, **asdict(summary)}) if as_json else _table(summary, first, again))  # noqa: T201
    return 1 if summary.failing else 0


def _simulate_some(seeds: Sequence[int], bug: str | None) -> list[Outcome]:
    gc.freeze()  # what is loaded lives on; looking through it time and again costs a tenth of the run
    outcomes = (simulate(seed, bug) for seed in seeds)
    return [
        Outcome(
            seed=outcome.seed,
            violations=outcome.violations,
            tally=outcome.tally,
            simulated=outcome.simulated,
            trace=(),
        )
        for outcome in outcomes
    ]


def _chunks(seeds: Sequence[int]) -> Iterator[Sequence[int]]:
    for at in range(0, len(seeds), CHUNK):
        yield seeds[at : at + CHUNK]


def _collect(done: set[Future[list[Outcome]]], summary: Summary) -> None:
    for future in done:
        for outcome in future.result():
            summary.add(outcome)


def _progress(summary: Summary, *, of: int, started: float) -> None:
    if sys.stderr.isatty():
        took = time.monotonic() - started
        line = f"{summary.seeds:,} of {of:,} seeds, {summary.simulated_hours:,.0f} simulated hours, {took:.0f} s"
        print(f"\r{line}  ", end="", file=sys.stderr, flush=True)  # noqa: T201


def _table(summary: Summary, first: int, again: str) -> str:
    rows = [
        ("seeds", f"{summary.seeds:,} from {first}"),
        ("simulated", f"{summary.simulated_hours:,.1f} h in {summary.seconds:.0f} s"),
        ("grants", f"{summary.grants:,}"),
        ("records", f"{summary.live:,} live, {summary.late:,} late, {summary.refused:,} refused"),
        ("violations", str(len(summary.failing)) if summary.failing else "none"),
    ]
    lines = [f"{name:<11}{value}" for name, value in rows]
    for seed, violation in sorted(summary.failing.items())[:TOLD]:
        lines.append(f"  seed {seed}: {violation}")
        lines.append(f"    again: streamward drill simulate --start {seed} --seeds 1 --trace{again}")
    return "\n" + "\n".join(lines)
