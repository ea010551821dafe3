"""Starts Workers in a few milliseconds: a process that has imported everything and does nothing but fork.

    Manager ─Spawn→ fork server ─fork→ Worker: dies with the fork server · own session · own descriptors · entry(…)

It has no threads, loops, sessions or secrets, and no socket but the one to its Manager, so that a fork copies nothing
that must not be shared. It adopts orphans: what a Worker started and left behind is ended here, at the latest a second
later, and so is the rest of a dead Worker's process group. It dies with its Manager; when the Manager closes the
channel, it ends all Workers by force and exits. SIGTERM and SIGINT are not for it: a service manager sends them to all
processes of a unit, and Workers shall drain.

    python -m streamward.runner.fork_server CHANNEL MANAGER_PID MODULE:FUNCTION [PRELOADED …] [--failpoints=…]

The function is called in each Worker as `entry(channel, board)` and returns its exit code.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from streamward.model.errors import StreamwardError
from streamward.protocol.codec import encode
from streamward.protocol.spawning import Exited, Loaded, News, Spawn, Spawned, SpawnFailed, Stop, read_wish
from streamward.runtime import core_dumps, failpoints, process_tree
from streamward.runtime.blame import Board
from streamward.runtime.process_tree import Children

LONGEST = 4096  # bytes of one packet
LOOK_EVERY = 1.0  # seconds between looks for what Workers left behind
DESCRIPTORS = 3  # channel, log, board

BORN = failpoints.declare("fork-server.born")  # in the Worker, before it can die with the fork server
FORKED = failpoints.declare("fork-server.forked")  # in the fork server, before it says so

Entry = Callable[[socket.socket, Board], int]


class NotAlone(StreamwardError):
    """Something that was imported started a thread: a fork would leave its locks taken for ever."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.threads = threads

    def __str__(self) -> str:
        return f"the fork server has {self.threads} threads after its imports: import less"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Worker:
    """A Worker that was not reaped yet."""

    number: int
    pid: int
    death: int  # the descriptor that becomes readable when it dies
    kill_at: float | None = None


@dataclass(frozen=True, slots=True)
class Birth:
    """What a Worker inherits: descriptors, by number."""

    channel: int
    log: int
    board: int


class ForkServer:
    """Forks, reaps and tells."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._workers: dict[int, _Worker] = {}  # by pid
        self._strays = Children(but=self._workers.keys)

    def serve(self) -> Birth | None:
        """Until the Manager is gone; returns what it inherits in each Worker, and nothing in the fork server."""
        while True:
            events = select.poll()
            for file in (self._link.fileno(), *(worker.death for worker in self._workers.values())):
                events.register(file, select.POLLIN)
            ready = {file for file, _ in events.poll(self._patience() * 1000)}
            self._reap(ready)
            self._kill_overdue()
            if not self._strays.reap():
                self._strays.kill()
            if self._link.fileno() not in ready:
                continue
            content, files, _, _ = socket.recv_fds(self._link, LONGEST, DESCRIPTORS)
            if not content:
                return None
            if (birth := self._obey(content, files)) is not None:
                return birth

    def end(self) -> None:
        """Ends every Worker, and whatever they started."""
        process_tree.end(Children())

    def tell(self, news: News) -> None:
        """Says it, if the Manager still listens; else it is dead, and so is this process in a moment."""
        with contextlib.suppress(OSError):
            self._link.send(encode(news))

    def _obey(self, content: bytes, files: list[int]) -> Birth | None:
        match read_wish(content):
            case Spawn(worker=number):
                return self._spawn(number, files)
            case Stop(worker=number, grace_s=grace):
                self._stop(number, grace)
        return None

    def _spawn(self, number: int, files: list[int]) -> Birth | None:
        if len(files) != DESCRIPTORS:
            _close(files)
            self.tell(SpawnFailed(worker=number, reason="descriptors are missing"))
            return None
        server = os.getpid()
        try:
            pid = os.fork()
        except OSError as err:
            _close(files)
            self.tell(SpawnFailed(worker=number, reason=err.strerror or "fork failed"))
            return None
        if pid == 0:
            failpoints.reach(BORN)
            process_tree.die_with(server)
            os.setsid()  # a group of its own, also for the scheduler: its share does not sink with others' processes
            self._forget()
            return Birth(*files)
        failpoints.reach(FORKED)
        _close(files)
        self._workers[pid] = _Worker(number=number, pid=pid, death=os.pidfd_open(pid))
        self.tell(Spawned(worker=number, pid=pid))
        return None

    def _forget(self) -> None:
        """In a Worker: lets go of what is the fork server's."""
        self._link.close()
        _close(worker.death for worker in self._workers.values())
        self._workers.clear()

    def _stop(self, number: int, grace: float) -> None:
        for worker in [each for each in self._workers.values() if each.number == number]:
            if worker.kill_at is None:
                os.kill(worker.pid, signal.SIGTERM)
            self._workers[worker.pid] = replace(worker, kill_at=time.monotonic() + grace)

    def _reap(self, ready: Iterable[int]) -> None:
        for worker in [each for each in self._workers.values() if each.death in ready]:
            _kill_group(worker.pid)  # before it is reaped: until then the group's number is nobody else's
            status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
            del self._workers[worker.pid]
            os.close(worker.death)
            by_signal = {"signal": -status} if status < 0 else {"code": status}
            self.tell(Exited(worker=worker.number, pid=worker.pid, **by_signal))

    def _kill_overdue(self) -> None:
        for worker in self._workers.values():
            if worker.kill_at is not None and time.monotonic() >= worker.kill_at:
                os.kill(worker.pid, signal.SIGKILL)  # also if it left its group
                _kill_group(worker.pid)

    def _patience(self) -> float:
        """Seconds until the next thing is due."""
        due = [worker.kill_at - time.monotonic() for worker in self._workers.values() if worker.kill_at is not None]
        return max(0.01, min([LOOK_EVERY, *due]))


def main(arguments: list[str]) -> int:
    """Serves; in a Worker, is the Worker."""
    channel, manager, place, *rest = arguments
    core_dumps.forbid_as_inherited()  # of which Workers inherit everything
    process_tree.die_with(int(manager))
    process_tree.adopt_orphans()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    began = time.monotonic()
    entry = _preloaded(place, [name for name in rest if not name.startswith("--")])
    _arm([option for option in rest if option.startswith("--failpoints=")])
    server = ForkServer(socket.socket(fileno=int(channel)))
    server.tell(Loaded(pid=os.getpid(), seconds=time.monotonic() - began))
    birth = server.serve()
    if birth is None:
        server.end()
        return 0
    return entry(*_settled(birth))


def _preloaded(place: str, names: Iterable[str]) -> Entry:
    """The Worker's function, with all that it needs imported, and what was imported out of the collector's way."""
    os.putenv("OPENBLAS_NUM_THREADS", "1")  # numpy would start a thread for each core
    gc.disable()
    module, _, function = place.partition(":")
    for name in names:
        importlib.import_module(name)
    entry: Any = getattr(importlib.import_module(module), function)
    with os.scandir("/proc/self/task") as tasks:
        threads = len(list(tasks))
    if threads > 1:
        raise NotAlone(threads)
    gc.freeze()  # its pages stay shared with every Worker
    found: Entry = entry
    return found


def _settled(birth: Birth) -> tuple[socket.socket, Board]:
    """In a Worker: signals and standard files as in any process."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for file, place in ((nothing, 0), (birth.log, 1), (birth.log, 2)):
        os.dup2(file, place)
    _close((nothing, birth.log))
    gc.enable()
    return socket.socket(fileno=birth.channel), Board.over(birth.board)


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)


def _kill_group(pid: int) -> None:
    """Everyone in it; a Worker that died before it had one started nothing."""
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _arm(options: list[str]) -> None:
    for option in options:
        failpoints.arm(failpoints.parse(option.partition("=")[2]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
