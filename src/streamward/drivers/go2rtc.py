"""go2rtc, as a process of ours: started, asked, listened to and ended.

It serves on loopback alone: RTSP on a port that stays the same over its restarts, and its HTTP API on a fresh one that
asks for a password of this start. Of its many modules it has these two, so that nobody can have it run programs. Its
config lies in a folder of memory that only its user can enter, and that is removed as soon as it was read.

Guaranteed: no login of a camera in a file, on a command line, in its environment or in what is told of it. Streams are
named by PATCH, for PUT would write them into its config; what it writes to its log is read here, and kept nowhere.
Not guaranteed: that it connects to the address that it was told and no other. It follows redirects, with the password.
"""

import asyncio
import contextlib
import http.client
import json
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from streamward.model.errors import StreamwardError
from streamward.model.secret import Secret
from streamward.runtime import http_client, process_tree
from streamward.runtime.http_client import Raw
from streamward.vision.restreams import Connections, Restream

READY_WITHIN = 20.0  # seconds from its start
ASK_WITHIN = 3.0  # seconds
END_WITHIN = 1.0  # seconds; then it is killed
LOOK_EVERY = 0.05  # seconds, while it begins or ends
LONGEST_LINE = 65_536  # bytes of its log
MEMORY = (Path("/dev/shm"), Path("/run"))  # noqa: S108 - the folder that is made there is its user's alone

_HERE = "127.0.0.1"
_USER = "streamward"
_PATH = "/api/streams"
_REFUSED = ("wrong user/pass", "user/pass not provided")


class Go2rtcMissing(StreamwardError):
    """The program is not there."""

    def __init__(self, program: str) -> None:
        super().__init__(program)
        self.program = program

    def __str__(self) -> str:
        return (
            f"cameras shall be read through go2rtc, but there is no program {self.program!r}: install go2rtc 1.9.14 or "
            "later, name it with STREAMWARD_RUNNER_GO2RTC, or set STREAMWARD_RUNNER_MODE=direct"
        )


class Go2rtcSilent(StreamwardError):
    """It does not do what it was started for."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why

    def __str__(self) -> str:
        return f"go2rtc is not to be spoken to: {self.why}"


def found(program: Path | None) -> Path:
    """Where the program is: as it was named, or else on the path; raises Go2rtcMissing."""
    asked = "go2rtc" if program is None else str(program)
    place = shutil.which(asked)
    if place is None:
        raise Go2rtcMissing(asked)
    return Path(place).absolute()


class Go2rtc:
    """One at a time. Start it in the main thread: it dies with the thread that started it."""

    def __init__(
        self, program: Path, *, fallback: Path, on_end: Callable[[], None], memory: Iterable[Path] = MEMORY
    ) -> None:
        """`fallback` is the folder in which its config lies for a moment if there is no memory disk."""
        self._program = program
        self._fallback = fallback
        self._memory = memory
        self._on_end = on_end
        self._process: subprocess.Popen[bytes] | None = None
        self._password = Secret("")
        self._api = 0
        self._rtsp = 0
        self._heard = b""
        self._refused: set[str] = set()
        self._is_deaf = False  # somebody else has its port
        self._asking = asyncio.Lock()  # its list of streams is not made for two at a time

    @property
    def pids(self) -> tuple[int, ...]:
        """Of the child that nobody else may reap."""
        return (self._process.pid,) if self._process is not None and self._process.returncode is None else ()

    @property
    def is_running(self) -> bool:
        """Whether its process lives."""
        return self._process is not None and self._process.poll() is None

    def url(self, name: str) -> Secret:
        """By what a stream is read; whoever knows it can."""
        return Secret(f"rtsp://{_HERE}:{self._rtsp}/{name}")

    async def start(self) -> int:
        """Starts it, without any streams, and waits until it serves; returns its pid. Raises Go2rtcSilent."""
        await self.stop()
        self._choose_ports()
        self._password = Secret(secrets.token_urlsafe(24))
        self._heard, self._is_deaf = b"", False
        with _folder(self._memory, self._fallback) as folder:
            config = folder / "go2rtc.yaml"
            config.touch(mode=0o600)
            config.write_text(json.dumps(self._config()))  # which is YAML, too
            self._process = process = self._open(config)
            await self._until_it_serves()
        return process.pid

    async def name(self, restream: Restream) -> bool:
        """Adds a stream, or gives one another source; nothing is dialed. Returns whether it takes such a source."""
        said = {"name": restream.name, "src": restream.source.reveal()}
        return (await self._ask("PATCH", said)).status == http.client.OK

    async def forget(self, name: str) -> None:
        """Takes a stream off its list; whoever reads it goes on until he leaves."""
        await self._ask("DELETE", {"src": name})  # its answer is about its config, which it cannot write

    async def connections(self) -> dict[str, Connections]:
        """What it has open for each stream."""
        try:
            told: dict[str, Any] = json.loads((await self._ask("GET", {})).body)
            return {
                name: Connections(
                    remotes=tuple(each["remote_addr"] for each in stream["producers"] or () if "remote_addr" in each),
                    readers=len(stream.get("consumers") or ()),
                )
                for name, stream in told.items()
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            raise Go2rtcSilent("its list of streams cannot be read") from None

    def refused(self) -> set[str]:
        """The streams whose camera has refused its login since this was last asked."""
        self._hear()
        refused, self._refused = self._refused, set()
        return refused

    async def stop(self) -> None:
        """Ends it, by force if need be, and waits until it is gone."""
        process = self._process
        if process is None:
            return
        process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_WITHIN):
                while process.poll() is None:  # noqa: ASYNC110 - it ends once
                    await asyncio.sleep(LOOK_EVERY)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._hang_up()
        self._process = None

    def _config(self) -> dict[str, Any]:
        return {
            "app": {"modules": ["api", "rtsp"]},
            "api": {
                "listen": f"{_HERE}:{self._api}",
                "username": _USER,
                "password": self._password.reveal(),
                "local_auth": True,
                "allow_paths": [_PATH],
            },
            "rtsp": {"listen": f"{_HERE}:{self._rtsp}", "default_query": "video"},
            "log": {"format": "json", "level": "warn", "output": "stdout", "time": ""},
        }

    def _choose_ports(self) -> None:
        """RTSP keeps its own, for Workers know it; raises Go2rtcSilent if somebody else has it."""
        with socket.socket() as rtsp, socket.socket() as api:
            rtsp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                rtsp.bind((_HERE, self._rtsp))
            except OSError:
                raise Go2rtcSilent(f"port {self._rtsp} is in use") from None
            api.bind((_HERE, 0))
            self._rtsp, self._api = rtsp.getsockname()[1], api.getsockname()[1]

    def _open(self, config: Path) -> subprocess.Popen[bytes]:
        become = [sys.executable, "-I", process_tree.__file__, str(os.getpid())]
        process = subprocess.Popen(  # noqa: S603 - the operator's own program
            [*become, str(self._program), "-c", str(config)],
            env={},  # ours may hold secrets
            process_group=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        asyncio.get_running_loop().add_reader(process.stdout.fileno(), self._hear)
        return process

    async def _until_it_serves(self) -> None:
        try:
            async with asyncio.timeout(READY_WITHIN):
                while not await self._serves():  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(LOOK_EVERY)
        except TimeoutError:
            raise Go2rtcSilent("it did not answer in time") from None

    async def _serves(self) -> bool:
        """Whether both its ports answer; raises Go2rtcSilent if they never will."""
        if not self.is_running or self._is_deaf:
            raise Go2rtcSilent("it ended at once" if not self._is_deaf else f"port {self._rtsp} is in use")
        try:
            is_known = (await self._ask("GET", {})).status == http.client.OK
        except Go2rtcSilent:
            return False
        with socket.socket() as probe:
            probe.settimeout(ASK_WITHIN)
            return is_known and probe.connect_ex((_HERE, self._rtsp)) == 0

    async def _ask(self, method: str, said: dict[str, str]) -> Raw:
        async with self._asking:
            try:
                return await asyncio.to_thread(self._answer, method, f"{_PATH}?{urlencode(said)}")
            except (OSError, http.client.HTTPException) as error:  # without its words, which may quote the URL
                raise Go2rtcSilent(type(error).__name__) from None

    def _answer(self, method: str, path: str) -> Raw:
        url = f"http://{_HERE}:{self._api}"
        login = b64encode(f"{_USER}:{self._password.reveal()}".encode()).decode()
        with contextlib.closing(http_client.connection(url, tls=None, timeout=ASK_WITHIN)) as line:
            headers = {"Authorization": f"Basic {login}", "Connection": "close"}
            return http_client.read(http_client.ask(line, url, method, path, headers=headers, body=None))

    def _hear(self) -> None:
        """Reads what is there of its log: who refused a login, and whether it has its port."""
        process = self._process
        if process is None or process.stdout is None or process.stdout.closed:
            return
        try:
            piece = os.read(process.stdout.fileno(), LONGEST_LINE)
        except BlockingIOError:
            return
        if not piece:
            self._hang_up()
            self._on_end()
            return
        *lines, rest = (self._heard + piece).split(b"\n")
        self._heard = rest[-LONGEST_LINE:]
        for line in lines:
            self._note(line)

    def _note(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            return
        if not isinstance(said, dict):
            return
        if said.get("message") == "[rtsp] listen" and said.get("level") == "error":
            self._is_deaf = True
        if any(each in str(said.get("error")) for each in _REFUSED):
            self._refused.add(str(said.get("stream")))

    def _hang_up(self) -> None:
        if self._process is not None and self._process.stdout is not None and not self._process.stdout.closed:
            asyncio.get_running_loop().remove_reader(self._process.stdout.fileno())
            self._process.stdout.close()


@contextlib.contextmanager
def _folder(memory: Iterable[Path], fallback: Path) -> Iterator[Path]:
    """A folder of one's own, of memory if there is such a disk; gone afterwards."""
    within = next((each for each in memory if _is_memory(each) and os.access(each, os.W_OK | os.X_OK)), None)
    if within is None:
        logging.getLogger(__name__).warning("there is no memory disk: the config of go2rtc lies in %s", fallback)
        fallback.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"streamward-{os.getpid()}-", dir=within or fallback) as made:  # it is 0700
        yield Path(made)


def _is_memory(folder: Path) -> bool:
    """Whether a file system of memory is mounted there."""
    with contextlib.suppress(OSError):
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        return any(mount[1:3] in ([str(folder), "tmpfs"], [str(folder), "ramfs"]) for mount in mounts)
    return False
