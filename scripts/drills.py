"""Every drill at full size, one after the other, and one table at the end: `python -m scripts.drills [NAME …]`.

    --list          names, about how long each takes on a quiet machine, and what it runs
    NAME …          only those

What each drill printed as JSON is kept in `data/drills/<date>/`. Exits with 1 if an objective was missed.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamward.drills.figures import Objective, Row, columns
from tests.support import postgres, rabbitmq

ROOT = Path(__file__).resolve().parent.parent
BROKER, DATABASE = "STREAMWARD_AMQP_URL", "STREAMWARD_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class Plan:
    """One drill."""

    name: str
    minutes: float  # about, on a quiet machine with two cores
    command: str
    has_broker: bool = False  # a RabbitMQ of our own
    has_database: bool = False  # a PostgreSQL of our own

    @property
    def args(self) -> list[str]:
        module, _, rest = self.command.partition(" ")
        said = ["--json"] if module == "streamward" else []
        return [sys.executable, "-m", module, *rest.split(), *said]


PLANS = (
    Plan("simulate", 50, "streamward drill simulate --seeds 20000"),
    Plan("soak", 11, "streamward drill soak --minutes 10"),
    Plan("kill", 3, "streamward drill takeover --kills 20"),
    Plan("kill-gop-1", 1.5, "streamward drill takeover --kills 10 --key-every 1"),
    Plan("kill-gop-2", 1.5, "streamward drill takeover --kills 10 --key-every 2"),
    Plan("kill-gop-4", 2, "streamward drill takeover --kills 10 --key-every 4"),
    Plan("kill-40", 2, "streamward drill takeover --kills 5 --cameras 40 --rested"),
    Plan("freeze", 7, "streamward drill takeover --how freeze --kills 20"),
    Plan("freeze-ttl-5", 5, "streamward drill takeover --how freeze --kills 20 --ttl 5 --renew-every 1"),
    Plan("cut", 7, "streamward drill takeover --how cut --kills 20"),
    Plan("cut-ttl-5", 5, "streamward drill takeover --how cut --kills 20 --ttl 5 --renew-every 1"),
    Plan("freeze-faster", 4, "streamward drill takeover --how freeze --kills 20 --ttl 3 --renew-every 0.5"),
    Plan("cut-faster", 4, "streamward drill takeover --how cut --kills 20 --ttl 3 --renew-every 0.5"),
    Plan("cut-40", 3, "streamward drill takeover --how cut --kills 5 --cameras 40 --rested"),
    Plan("drain-soft", 2, "streamward drill drain soft"),
    Plan("drain-hard", 1, "streamward drill drain hard"),
    Plan("splitbrain", 4, "streamward drill splitbrain --rounds 10"),
    Plan("splitbrain-stop", 4, "streamward drill splitbrain --rounds 10 --on-control-loss stop"),
    Plan("splitbrain-rabbitmq", 4, "streamward drill splitbrain --rounds 10 --amqp setting", has_broker=True),
    Plan("blackout", 3, "streamward drill blackout"),
    Plan("blackout-fenced", 3, "streamward drill blackout --on-control-loss continue-fenced"),
    Plan("reconfig", 2, "streamward drill reconfig --times 5"),
    Plan("dialstorm", 2, "streamward drill dialstorm"),
    Plan("reboot", 3, "streamward drill reboot"),
    Plan("bluegreen", 3, "streamward drill bluegreen --times 3 --kills 3"),
    Plan("steady", 11, "streamward drill steady --minutes 10"),
    Plan(
        "steady-faster",
        61,
        "streamward drill steady --minutes 60 --ttl 3 --renew-every 0.5 --loss 0.01 --delay 0.05 --stall 0.75",
    ),
    Plan("scale", 17, "streamward drill scale --minutes 10"),
    Plan("scale-faster", 17, "streamward drill scale --minutes 10 --ttl 3 --renew-every 0.5"),
    Plan("scale-postgresql", 12, "streamward drill scale --minutes 5 --database setting", has_database=True),
    Plan("leftovers", 8, "streamward drill leftovers --kills 100"),
    Plan("fuzz", 60, "scripts.fuzz_api --examples 2000 --minutes 30"),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """What one came to."""

    name: str
    code: int
    seconds: float
    objectives: list[Objective]

    @property
    def rows(self) -> list[Row]:
        ended = Objective("ended well", f"code {self.code}", "code 0", self.code == 0)
        is_told = any(not each.is_met for each in self.objectives) or (self.objectives and self.code == 0)
        shown = self.objectives if is_told else [*self.objectives, ended]
        return [(self.name, each.name, each.measured, each.goal, "" if each.is_met else "MISSED") for each in shown]


def run(plan: Plan, folder: Path) -> Ran:
    """Runs one; how it goes is seen as it goes."""
    print(f"\n== {plan.name}: {plan.command}", file=sys.stderr, flush=True)
    began = time.monotonic()
    with servers(plan) as settings:
        if settings is None:
            return Ran(plan.name, 1, 0.0, [Objective("has its own servers", "not installed", "all", is_met=False)])
        ended = subprocess.run(plan.args, cwd=ROOT, env=os.environ | settings, stdout=subprocess.PIPE, check=False)
    (folder / f"{plan.name}.json").write_bytes(ended.stdout)
    return Ran(plan.name, ended.returncode, time.monotonic() - began, judged(ended.stdout))


@contextlib.contextmanager
def servers(plan: Plan) -> Iterator[dict[str, str] | None]:
    """The settings of the servers that a plan wants of our own; None if one of them is not installed."""
    binaries = postgres.installed()
    if (plan.has_broker and not rabbitmq.is_installed()) or (plan.has_database and binaries is None):
        yield None
        return
    settings = {}
    with contextlib.ExitStack() as started:
        if plan.has_broker:
            settings[BROKER] = started.enter_context(rabbitmq.running()).url()
        if plan.has_database and binaries is not None:
            server = postgres.PostgresServer(binaries)
            started.callback(server.stop)
            server.start()
            settings[DATABASE] = server.url("postgres")
        yield settings


def judged(printed: bytes) -> list[Objective]:
    """The objectives in what a drill printed, if it has any."""
    with contextlib.suppress(json.JSONDecodeError, AttributeError):
        told: list[dict[str, Any]] = json.loads(printed).get("objectives", [])
        return [Objective(**each) for each in told]
    return []


def chosen(names: list[str]) -> list[Plan]:
    """Those that are named; all if none is."""
    found = [plan for plan in PLANS if not names or plan.name in names]
    unknown = set(names) - {plan.name for plan in found}
    if unknown:
        sys.exit(f"no drill is called {' or '.join(sorted(unknown))}: --list tells their names")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--list", action="store_true", dest="is_listed")
    given = parser.parse_args()
    plans = chosen(given.names)
    if given.is_listed:
        print(columns([(plan.name, f"{plan.minutes:g} min", plan.command) for plan in plans]))
        return 0
    folder = ROOT / "data" / "drills" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}"
    folder.mkdir(parents=True)
    done = [run(plan, folder) for plan in plans]
    print(columns([("drill", "objective", "measured", "goal", ""), *(row for each in done for row in each.rows)]))
    print(columns([("drill", "took"), *((each.name, f"{each.seconds / 60:.1f} min") for each in done)]))
    return 1 if any(each.code for each in done) else 0


if __name__ == "__main__":
    sys.exit(main())
