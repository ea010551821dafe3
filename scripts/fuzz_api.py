"""Fuzzes real control planes, on SQLite and on PostgreSQL, with Schemathesis as every role and as none.

Prints the seed of each round; `--seed` repeats it. Ends with 1 if anything was found.
"""

import argparse
import asyncio
import contextlib
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from schemathesis.core.failures import FailureGroup

from tests.support.fuzzing import Fuzzer, a_fuzzer, brief
from tests.support.operations import OPERATIONS
from tests.support.postgres import PostgresServer, installed
from tests.support.processes import ControlProcess, control

ROUND = 25  # random cases of each operation, before the next operation has its turn


class Drill:
    """What was done, and what was found."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.unavailable = 0
        self.found: dict[str, str] = {}

    def on(self, process: ControlProcess, *, examples: int, seconds: float, seed: int) -> None:
        """Fuzzes one control plane, round after round, until each operation had its cases or the time is over."""
        ends_at = time.monotonic() + seconds
        with httpx.Client(timeout=30) as client:
            fuzzer = a_fuzzer(process, client)
            for number in range(-(-examples // ROUND)):
                if time.monotonic() > ends_at:
                    break
                print(
                    f"round {number + 1}, seed {seed + number}, {sum(fuzzer.calls.values())} calls so far", flush=True
                )
                self._round(fuzzer, seed=seed + number, ends_at=ends_at)
        self.calls += fuzzer.calls
        self.statuses += fuzzer.statuses
        self.unavailable += fuzzer.unavailable

    def _round(self, fuzzer: Fuzzer, *, seed: int, ends_at: float) -> None:
        for path, method in OPERATIONS:
            label = f"{method.upper()} {path}"
            if label in self.found or time.monotonic() > ends_at:
                continue
            try:
                fuzzer.run(label, settings=brief(examples=ROUND, derandomize=False), seed=seed)
            except (FailureGroup, Exception) as failure:  # noqa: BLE001 - told, whatever it is, and the others go on
                self.found[label] = f"{type(failure).__name__}: {failure}"[:3000]
                print(f"{label}, seed {seed}:\n{self.found[label]}", flush=True)


@contextlib.contextmanager
def _postgres() -> Iterator[str | None]:
    """A database of a server of our own, if there is PostgreSQL here."""
    binaries = installed()
    if binaries is None:
        print("PostgreSQL is not installed: left out")
        yield None
        return
    server = PostgresServer(binaries)
    try:
        server.start()
        asyncio.run(server.make_template())
        yield server.url(asyncio.run(server.create("fuzzed")))
    finally:
        server.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=2000, help="random cases of each operation on each database")
    parser.add_argument("--minutes", type=float, default=10.0, help="at most so long on each database")
    parser.add_argument("--seed", type=int, default=1, help="of the first round")
    given = parser.parse_args()
    drill = Drill()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started ends too
    with tempfile.TemporaryDirectory() as folder, _postgres() as postgres:
        databases: dict[str, dict[str, Any]] = {"SQLite": {}}
        if postgres is not None:
            databases["PostgreSQL"] = {"DATABASE_URL": postgres}
        for name, settings in databases.items():
            print(f"{name}:", flush=True)
            with control(Path(folder, name), **settings) as process:
                drill.on(process, examples=given.examples, seconds=given.minutes * 60, seed=given.seed)
    print(f"calls: {dict(drill.calls)}, {sum(drill.calls.values())} altogether")
    print(f"answers: {dict(sorted(drill.statuses.items()))}; 503 that went away: {drill.unavailable}")
    print(f"operations with a finding: {sorted(drill.found) or 'none'}")
    return 1 if drill.found else 0


if __name__ == "__main__":
    sys.exit(main())
