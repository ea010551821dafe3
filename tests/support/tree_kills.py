"""Kills (−9) processes of a runner's tree at random moments and looks at what is left.

    python -m tests.support.tree_kills TIMES SEED [WITHIN]        one line of JSON for each kill

Everything of the tree bears a mark in its environment. This process adopts orphans, so whatever the tree leaves behind,
alive or dead, becomes a child of it: nothing can hide. It takes in the dead as the first process of a host would.
"""

import contextlib
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from streamward.runtime import process_tree
from streamward.runtime.process_tree import Children
from tests.support.answering import serving

ROLES = ("parent", "Manager", "fork server", "Worker")
FAILPOINTS = ("", "fork-server.born=pause:0.2", "fork-server.forked=pause:0.2")
PATIENCE = 60.0
LATEST = 1.0  # seconds from the start, or from the first Worker, in which a kill comes
MARK = "TREE_UNDER_TEST"
BY_PARENT, BY_RUNNER = "Bearer by-the-parent", "Bearer by-the-runner"


def rest() -> None:
    select.select([], [], [], 0.005)


def until(holds: Callable[[], object], *, what: str) -> None:
    """Waits for something that comes."""
    patience = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < patience, f"{what} did not come"
        rest()


def stat(pid: int) -> tuple[str, int] | None:
    """State and parent of a process."""
    try:
        state, parent, *_ = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return state, int(parent)


def alive(mark: str) -> set[int]:
    """Every living process that bears the mark, wherever it went."""
    found = set()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return {pid for pid in found if (known := stat(pid)) is not None and known[0] != "Z"}


def is_open(port: int) -> bool:
    with socket.socket() as door:
        return door.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Desk:
    """Where leases are released, and who of the tree lived at that moment."""

    mark: str
    releases: list[tuple[str, set[int]]] = field(default_factory=list)

    @contextlib.contextmanager
    def opened(self) -> Iterator[str]:
        desk = self

        class Answering(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                desk.releases.append((self.headers["Authorization"], alive(desk.mark)))
                self.send_response(200)
                self.send_header("Content-Length", "15")
                self.end_headers()
                self.wfile.write(b'{"released":[]}')

            def log_message(self, *_: object) -> None:
                pass

        with serving(HTTPServer(("127.0.0.1", 0), Answering)) as port:
            yield f"http://127.0.0.1:{port}"


@dataclass
class Tree:
    """A runner under test."""

    parent: subprocess.Popen[bytes]
    mark: str
    said: Path
    log: Path
    desk: Desk

    def words(self, role: str) -> list[list[str]]:
        whole = self.said.read_text().rpartition("\n")[0].splitlines()
        return [line.split()[1:] for line in whole if line.startswith(f"{role} ")]

    def below(self, pid: int) -> list[int]:
        known = {each: stat(each) for each in alive(self.mark)}
        return sorted(each for each, told in known.items() if told is not None and told[1] == pid)

    def find(self, role: str, rng: random.Random) -> int | None:
        """A process of that role, if there is one already."""
        found = [self.parent.pid]
        for _ in range(ROLES.index(role)):
            found = [below for pid in found for below in self.below(pid)]
        return rng.choice(found) if found else None

    def await_one(self, role: str, rng: random.Random) -> int:
        """The same, as soon as there is one."""
        patience = time.monotonic() + PATIENCE
        while (found := self.find(role, rng)) is None:
            assert time.monotonic() < patience, f"no {role} came"
            rest()
        return found

    def ports(self) -> set[int]:
        return {int(words[1]) for role in ("worker", "apart", "beside") for words in self.words(role)}

    def doomed(self, pid: int) -> set[int]:
        """Who must not outlive a process: all below it, and what those started that is elsewhere by now."""
        found, fresh = {pid}, [pid]
        while fresh:
            fresh = [below for each in fresh for below in self.below(each)]
            found.update(fresh)
        told = [words for role in ("apart", "beside") for words in self.words(role)]
        return found | {int(words[0]) for words in told if int(words[2]) in found}


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one kill led to."""

    role: str
    since: str
    at_s: float
    failpoints: str
    clean_after_s: float
    released: tuple[str, ...]
    lingered: bool
    faults: tuple[str, ...]


@contextlib.contextmanager
def tree(failpoints: str, *, seed: int, end_within: float) -> Iterator[Tree]:
    """A running tree; whatever is left of it at the end is ended."""
    desk = Desk(f"tree-{os.getpid()}-{time.monotonic_ns()}")
    command = [sys.executable, "-m", "tests.support.tree_process"]
    with tempfile.TemporaryDirectory() as folder, desk.opened() as url:
        told = [url, failpoints, str(seed), str(end_within)]
        said, log = Path(folder) / "said", Path(folder) / "log"
        with said.open("ab") as out, log.open("ab") as err:
            parent = subprocess.Popen(
                [sys.executable, "-m", "streamward.runner.parent", "30", *command, *told],
                env=os.environ | {MARK: desk.mark},
                stdout=out,
                stderr=err,
            )
        try:
            yield Tree(parent, desk.mark, said, log, desk)
        except BaseException as err:
            err.add_note(f"{said.read_text()[-3000:]}\n{log.read_text()[-3000:]}")
            raise
        finally:
            process_tree.end(Children())
            parent.wait()


def is_clean(runner: Tree) -> bool:
    """Whether nothing is left: the kernel knows of no child, and nobody bears the mark."""
    return Children().reap() and not alive(runner.mark)


def killed(role: str, rng: random.Random, *, end_within: float) -> Outcome:
    """One tree, one kill."""
    failpoints = rng.choice(FAILPOINTS)
    since, at = rng.choice(("start", "worker")), rng.uniform(0, LATEST)
    with tree(failpoints, seed=rng.randrange(10**6), end_within=end_within) as runner:
        if since == "worker":
            until(lambda: runner.words("worker"), what="a Worker")
        began = time.monotonic()
        until(lambda: time.monotonic() - began >= at, what="the moment")
        doomed, had_ticket = struck(runner, role, rng)
        killed_at = time.monotonic()
        if role in ("parent", "Manager"):
            until(lambda: is_clean(runner), what="the end of the tree")
        else:
            until(lambda: not any(map(stat, doomed)), what="the end of the Worker's processes")
        seconds = time.monotonic() - killed_at
        faults = [] if role in ("parent", "Manager") else ended(runner)
        faults += judged(runner, role, had_ticket=had_ticket)
        return Outcome(
            role=role,
            since=since,
            at_s=round(at, 3),
            failpoints=failpoints,
            clean_after_s=round(seconds, 3),
            released=tuple(who.removeprefix("Bearer ") for who, _ in runner.desk.releases),
            lingered="tree.lingers" in runner.log.read_text(),
            faults=tuple(faults),
        )


def struck(runner: Tree, role: str, rng: random.Random) -> tuple[set[int], bool]:
    """Kills one of a role; returns who must not outlive it, and whether the parent could release by then."""
    while True:
        victim = runner.await_one(role, rng)
        with contextlib.suppress(ProcessLookupError), held(victim) as process:  # Workers come and go
            if victim in alive(runner.mark):
                doomed, had_ticket = runner.doomed(victim), bool(runner.words("ticket"))
                signal.pidfd_send_signal(process, signal.SIGKILL)
                return doomed, had_ticket


@contextlib.contextmanager
def held(pid: int) -> Iterator[int]:
    """A descriptor of a process: of that one, whoever has its pid later."""
    process = os.pidfd_open(pid)
    try:
        yield process
    finally:
        os.close(process)


def ended(runner: Tree) -> list[str]:
    """Ends a tree that lived on as an operator would."""
    until(lambda: runner.words("spawned"), what="a Worker")
    early = bool(runner.desk.releases)
    runner.parent.send_signal(signal.SIGTERM)
    code = runner.parent.wait(PATIENCE)
    until(lambda: is_clean(runner), what="the end of the tree")
    return ["released while it ran"] * early + [f"ended with {code}"] * (code != 0)


def judged(runner: Tree, role: str, *, had_ticket: bool) -> list[str]:
    """What is not as it must be, when nothing lives any more."""
    faults = [f"port {port} listens" for port in runner.ports() if is_open(port)]
    releases = runner.desk.releases
    expected = BY_PARENT if role == "Manager" else BY_RUNNER
    lingered = "tree.lingers" in runner.log.read_text()
    if had_ticket and not lingered and {who for who, _ in releases} != {expected}:
        faults.append(f"released by {[who for who, _ in releases]}")
    allowed = {runner.parent.pid, *(int(words[0]) for words in runner.words("ticket"))}
    faults += [f"{who} released while {living - allowed} lived" for who, living in releases if living - allowed]
    return faults


def main(times: str, seed: str, within: str = "inf") -> int:
    process_tree.adopt_orphans()
    rng = random.Random(int(seed))
    found = []
    for turn in range(int(times)):
        found.append(killed(ROLES[turn % len(ROLES)], rng, end_within=min(30.0, float(within))))
        print(json.dumps(asdict(found[-1])), flush=True)
    slow = [outcome for outcome in found if outcome.clean_after_s > float(within)]
    return 1 if slow or any(outcome.faults for outcome in found) else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
