"""The Manager's end of the fork server: asks for Workers, and hears of every one's end exactly once.

When the fork server dies, the kernel kills its Workers. They, and whatever they started, come to the Manager, which
adopts orphans: they are ended and reaped here before their ends are told. Then it can be started again.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from streamward.model.errors import StreamwardError
from streamward.protocol.codec import encode
from streamward.protocol.spawning import Exited, Loaded, News, Spawn, Spawned, SpawnFailed, Stop, Wish, read_news
from streamward.runner.fork_server import LONGEST
from streamward.runtime import blame, channel
from streamward.runtime.blame import Board
from streamward.runtime.process_tree import Children

LOADED_WITHIN = 60.0  # seconds; libraries come from a cold disk
LOOK_EVERY = 0.02  # seconds, while they die
SPAWN_WITHIN = 10.0  # seconds; later the fork server counts as dead


class ForkServerGone(StreamwardError):
    """The fork server died, or does not answer."""

    def __str__(self) -> str:
        return "the fork server, which starts Workers, died or does not answer: the lines before this may say why"


class SpawnRefused(StreamwardError):
    """The host gave no process."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"no Worker could be started ({self.reason}): allow this user and its service more processes and memory "
            "(`ulimit -u`, TasksMax= and MemoryMax= of systemd)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ForkSpec:
    """What the fork server loads, and what a Worker runs: `module:function`, called as `entry(channel, board)`."""

    entry: str
    preload: tuple[str, ...] = ()
    failpoints: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawnling:
    """A Worker that was just born: the Manager's ends of what it inherited."""

    number: int
    pid: int
    channel: socket.socket
    board: Board


class Spawner:
    """One fork server at a time. Start it in the main thread: it dies with the thread that started it."""

    def __init__(
        self,
        spec: ForkSpec,
        *,
        on_exit: Callable[[Exited], None],
        on_lost: Callable[[], None],
        others: Callable[[], Collection[int]] = tuple,
    ) -> None:
        """`others` are pids of children of this process that have nothing to do with Workers."""
        self._spec = spec
        self._on_exit = on_exit
        self._on_lost = on_lost
        self._others = others
        self._server: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None
        self._numbers = 0
        self._alive: dict[int, int] = {}  # pids by number
        self._answers: dict[int, asyncio.Future[News]] = {}  # number 0 is the fork server itself
        self._burying: asyncio.Task[None] | None = None
        self._is_loaded = False

    @property
    def is_ready(self) -> bool:
        """Whether it can spawn."""
        return self._is_loaded

    async def start(self) -> Loaded:
        """Starts the fork server, and waits until it has loaded everything; raises SpawnRefused and ForkServerGone."""
        if self._burying is not None:  # who buries one ends every child, the next one too
            await asyncio.wait([self._burying])
        self._open()
        loaded = await self._answer(0, within=LOADED_WITHIN)
        assert isinstance(loaded, Loaded)
        self._is_loaded = True
        return loaded

    async def spawn(self, log: int) -> Spawnling:
        """A new Worker, whose output goes to that descriptor; raises ForkServerGone also while one loads."""
        if not self._is_loaded:
            raise ForkServerGone
        self._numbers += 1
        number = self._numbers
        with contextlib.ExitStack() as opened:
            ours, theirs = map(opened.enter_context, channel.pair())
            page = blame.new_page()
            board = opened.enter_context(contextlib.closing(Board.over(os.dup(page))))
            try:
                self._send(Spawn(worker=number), files=[theirs.fileno(), log, page])
            finally:
                theirs.close()
                os.close(page)
            answer = await self._answer(number, within=SPAWN_WITHIN)
            if not isinstance(answer, Spawned):
                raise SpawnRefused(answer.reason if isinstance(answer, SpawnFailed) else "no answer")
            opened.pop_all()
            return Spawnling(number=number, pid=answer.pid, channel=ours, board=board)

    def stop(self, number: int, *, grace: float) -> None:
        """Asks a Worker to end, and ends it when the grace is over; nothing happens if it is dead."""
        with contextlib.suppress(ForkServerGone):
            self._send(Stop(worker=number, grace_s=grace))

    async def close(self) -> None:
        """Ends the fork server and all Workers at once, and waits until nothing of them is left."""
        if self._link is not None:
            self._lose()
        if self._burying is not None:
            await asyncio.wait([self._burying])

    def _open(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        options = [f"--failpoints={self._spec.failpoints}"] if self._spec.failpoints else []
        told = [str(theirs.fileno()), str(os.getpid()), self._spec.entry, *self._spec.preload, *options]
        with theirs:
            try:
                self._server = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, "-m", "streamward.runner.fork_server", *told],
                    pass_fds=[theirs.fileno()],
                    process_group=0,
                    stdin=subprocess.DEVNULL,
                )
            except OSError as err:
                ours.close()
                raise SpawnRefused(err.strerror or "no reason given") from err
        self._link = ours
        asyncio.get_running_loop().add_reader(ours, self._hear)

    def _send(self, wish: Wish, *, files: Sequence[int] = ()) -> None:
        if self._link is None:
            raise ForkServerGone
        try:
            socket.send_fds(self._link, [encode(wish)], files)
        except OSError as err:  # dead, or so far behind that it might as well be
            self._lose()
            raise ForkServerGone from err

    async def _answer(self, number: int, *, within: float) -> News:
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            return await asyncio.wait_for(answer, within)
        except TimeoutError:
            self._lose()
            raise ForkServerGone from None
        finally:
            del self._answers[number]

    def _hear(self) -> None:
        assert self._link is not None
        try:
            content = self._link.recv(LONGEST)
        except BlockingIOError:
            return
        except OSError:
            content = b""
        if content:
            self._note(read_news(content))
        else:
            self._lose()

    def _note(self, news: News) -> None:
        match news:
            case Exited(worker=number):
                self._alive.pop(number, None)
                self._on_exit(news)
                return
            case Loaded():
                number = 0
            case Spawned(worker=number, pid=pid):
                self._alive[number] = pid
            case SpawnFailed(worker=number):
                pass
        if (answer := self._answers.get(number)) is not None and not answer.done():
            answer.set_result(news)

    def _lose(self) -> None:
        """Has nothing to do with this fork server any more."""
        link, self._link = self._link, None
        if link is None:
            return
        self._is_loaded = False
        asyncio.get_running_loop().remove_reader(link)
        link.close()
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(ForkServerGone())
        self._burying = asyncio.get_running_loop().create_task(self._bury(), name="burying Workers")

    async def _bury(self) -> None:
        orphans = Children(but=self._others)
        while not orphans.reap():  # the fork server is one of them
            orphans.kill()
            await asyncio.sleep(LOOK_EVERY)
        if self._server is not None:
            self._server.wait()
        alive, self._alive = self._alive, {}
        for number, pid in alive.items():
            self._on_exit(Exited(worker=number, pid=pid, signal=signal.SIGKILL))
        self._burying = None
        self._on_lost()


class ForkServerKeeper:
    """Starts it again when it was lost; a service runs its ticks."""

    def __init__(self, spawner: Spawner) -> None:
        self._spawner = spawner

    async def tick(self) -> float:
        """Until it is lost again."""
        if not self._spawner.is_ready:
            await self._spawner.start()
        return float("inf")
