"""A Manager and its Workers that behave as badly as they can, to be killed: `python -m tests.support.tree_process …`.

The Manager hands over a ticket, keeps three Workers, and ends one of them now and then. A Worker listens on a port,
ignores SIGTERM and the end of its channel, and starts processes that do the same: one in its group, one in a session of
its own, and one whose parent ends at once. Each says itself in one write: `role pid port owner`.
"""

import asyncio
import contextlib
import functools
import http.client
import os
import random
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn
from urllib.parse import urlsplit

from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.spawning import Exited
from streamward.protocol.ticket import ReleaseTicket
from streamward.runner.parent_link import ParentLink
from streamward.runner.spawner import ForkServerGone, ForkSpec, Spawner, Spawnling, SpawnRefused
from streamward.runtime.blame import Board

WORKERS = 3
GRACE = 0.05  # seconds that a Worker has, which it does not use
RELEASE_ALL = "/v1/runners/release-all"


def say(*words: object) -> None:
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


def listen_for_ever(role: str, owner: int) -> NoReturn:
    """Listens on a port, hears nobody, and does not end by itself."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.create_server(("127.0.0.1", 0)) as door:
        say(role, os.getpid(), door.getsockname()[1], owner)
        while True:
            signal.pause()


def started(then: Callable[[], NoReturn]) -> int:
    """A child that does that; it is nobody's business any more."""
    pid = os.fork()
    if pid == 0:
        then()
    return pid


def far_away(owner: int) -> NoReturn:
    os.setsid()
    listen_for_ever("apart", owner)


def left_behind(owner: int) -> NoReturn:
    """Ends, but leaves a child in a session of its own."""
    started(functools.partial(far_away, owner))
    os._exit(0)


def worker(_channel: socket.socket, board: Board) -> int:
    """The entry of a Worker."""
    me = os.getpid()
    started(functools.partial(listen_for_ever, "beside", me))
    started(functools.partial(far_away, me))
    os.waitpid(started(functools.partial(left_behind, me)), 0)
    with board.doing("cam-1"):
        listen_for_ever("worker", me)


class DummyRunner:
    """Keeps Workers until it is told to end, or its parent is gone."""

    def __init__(self, url: str, *, failpoints: str, seed: int) -> None:
        spec = ForkSpec(entry="tests.support.tree_process:worker", failpoints=failpoints)
        self._url = url
        self._rng = random.Random(seed)
        self._spawner = Spawner(spec, on_exit=self._exited, on_lost=lambda: say("lost"))
        self._alive: dict[int, Spawnling] = {}
        self._over = asyncio.Event()
        self._is_hard = False

    async def run(self, descriptor: int, *, end_within: float) -> int:
        link = ParentLink.inherited(descriptor, on_gone=self._end_hard, end_within=end_within)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, self._over.set)
        link.hand_over(self._ticket())
        say("ticket", os.getpid())
        while not self._over.is_set():
            with contextlib.suppress(ForkServerGone, SpawnRefused):
                await self._keep_workers()
        for number in () if self._is_hard else tuple(self._alive):
            self._spawner.stop(number, grace=GRACE)
        await self._spawner.close()
        await asyncio.to_thread(self._release)
        link.withdraw()
        link.close()
        say("ended", os.getpid())
        return 3 if self._is_hard else 0

    async def _keep_workers(self) -> None:
        await self._spawner.close()
        ready = await self._spawner.start()
        say("fork-server", ready.pid)
        while not self._over.is_set():
            while len(self._alive) < WORKERS:
                born = await self._spawner.spawn(1)
                self._alive[born.number] = born
                say("spawned", born.pid)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), self._rng.uniform(0, 0.3))
                return
            if self._alive:
                self._spawner.stop(self._rng.choice([*self._alive]), grace=GRACE)

    def _exited(self, exited: Exited) -> None:
        if (gone := self._alive.pop(exited.worker, None)) is not None:
            gone.channel.close()
            say("exited", exited.pid, exited.signal, ",".join(gone.board.names()) or "-")
            gone.board.close()

    def _end_hard(self) -> None:
        self._is_hard = True
        self._over.set()

    def _ticket(self) -> ReleaseTicket:
        return ReleaseTicket(
            url=self._url, token=ClearText(Secret("by-the-parent")), runner_id="r1", incarnation="inc-1", ttl_s=8.0
        )

    def _release(self) -> None:
        connection = http.client.HTTPConnection(urlsplit(self._url).netloc, timeout=60)
        headers = {"Authorization": "Bearer by-the-runner", "Content-Type": "application/json"}
        connection.request("POST", RELEASE_ALL, b'{"runner_id":"r1","incarnation":"inc-1"}', headers)
        connection.getresponse().read()
        connection.close()


def main(url: str, failpoints: str, seed: str, end_within: str, *told: str) -> int:
    descriptor = next(word.partition("=")[2] for word in told if word.startswith("--parent-channel="))
    runner = DummyRunner(url, failpoints=failpoints, seed=int(seed))
    return asyncio.run(runner.run(int(descriptor), end_within=float(end_within)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
