"""Processes of a drill, started by the real command line on free ports, and always ended."""

import asyncio
import contextlib
import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import msgspec

from streamward.model.errors import StreamwardError
from streamward.nvr.control import FaultOrder
from streamward.nvr.faults import Fault
from streamward.nvr.tally import Count
from streamward.protocol.readiness import NvrReady
from streamward.up.part import READY_WITHIN
from streamward.up.ready_pipe import EndedBeforeReady, R, ReadyPipe

COMMAND = (sys.executable, "-m", "streamward")
ANSWERED_WITHIN = 60.0  # seconds: a busy machine is no failure
ENDED_WITHIN = 30.0

Outcome = TypeVar("Outcome")


class ProcessFailed(StreamwardError):
    """A process of a drill ended, said nothing, or refused something."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(name, why)
        self.name = name
        self.why = why

    def __str__(self) -> str:
        return f"`streamward {self.name}` did not serve the drill: {self.why}"


class Role(Generic[R]):
    """One process; what it logs is kept in the folder.

    It dies with us, where there is a `setpriv`. The kernel watches the thread that starts it: that has to be the first.
    """

    def __init__(
        self,
        name: str,
        *args: str,
        ready: type[R],
        folder: Path,
        environment: dict[str, str],
        called: str | None = None,
        within: tuple[str, ...] = (),  # what its command begins with
    ) -> None:
        self.name = name
        self._log = folder / f"{called or name}.log"
        self._pipe = ReadyPipe(ready)
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(  # noqa: S603 - our own program
                [*_dying(), *within, *COMMAND, name, *args, *self._pipe.option],
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                pass_fds=[self._pipe.writer],
            )
        self._pipe.close_writer()

    def wait_ready(self) -> R:
        """Its readiness message; raises ProcessFailed if it ends first, or takes too long."""
        try:
            ready = self._pipe.receive(within=READY_WITHIN)
        except EndedBeforeReady:
            self.process.wait()
            raise ProcessFailed(self.name, self.trouble) from None
        if ready is None:
            raise ProcessFailed(self.name, self.trouble)
        return ready

    def lines(self) -> Iterator[dict[str, Any]]:
        """What it logged, line by line."""
        for line in self._log.read_text(errors="replace").splitlines():
            with contextlib.suppress(msgspec.DecodeError):  # not JSON, or not all of it is there yet
                yield msgspec.json.decode(line, type=dict[str, Any])

    @property
    def trouble(self) -> str:
        """How it ended, and the end of its log."""
        code = self.process.poll()
        how = "it is not ready" if code is None else f"it ended with {code}"
        return "\n".join([how, *self._log.read_text(errors="replace").splitlines()[-20:]])

    def end(self) -> tuple[int, float]:
        """Asks it to end, by force in the end; its exit code, and how many seconds it took."""
        asked = time.monotonic()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(ENDED_WITHIN)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.close()
        return code, time.monotonic() - asked

    def close(self) -> None:
        """Closes the pipe of its readiness message."""
        self._pipe.close()


class Recorder:
    """The simulated recorder, spoken to over its control API."""

    def __init__(self, role: Role[NvrReady]) -> None:
        ready = role.wait_ready()
        self.urls = ready.camera_urls
        self.cameras = [url.rpartition("/")[2] for url in self.urls]
        self._control = ready.control_url

    def url(self, camera: str) -> str:
        """Where one is."""
        return self.urls[self.cameras.index(camera)]

    async def clients(self) -> set[str]:
        """Address and port of whoever has a session."""
        return {each["client"] for each in await self._call("GET", "/sessions")}

    async def counts(self) -> list[Count]:
        """What clients did to it."""
        told = await self._call("GET", "/counts")
        return msgspec.convert(told["counts"], list[Count])

    async def set(self, fault: Fault, camera: str | None) -> None:
        """From now on this counts."""
        await self._call("POST", "/faults", msgspec.json.encode(FaultOrder(fault, camera)))

    async def clear(self) -> None:
        """All is well again."""
        await self._call("DELETE", "/faults")

    async def sent(self, camera: str, *, since: int) -> list[dict[str, Any]]:
        """The newest pictures of a camera, and when each was taken."""
        told: list[dict[str, Any]] = await self._call("GET", f"/sent?camera={camera}&since={since}")
        return told

    async def _call(self, method: str, path: str, body: bytes | None = None) -> Any:
        return await asyncio.to_thread(call, method, f"{self._control}{path}", body=body)


@contextlib.contextmanager
def folder(wanted: Path | None, *, called: str) -> Iterator[Path]:
    """Where everything lies: a fresh one in the folder that is wanted, or one that is gone afterwards."""
    if wanted is not None:
        fresh = wanted.absolute() / f"{called}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
        wanted.mkdir(parents=True, exist_ok=True)
        fresh.mkdir(mode=0o700)  # keys are kept there
        yield fresh
        return
    with tempfile.TemporaryDirectory(prefix=f"streamward-{called}-") as made:
        yield Path(made)


def ran(drill: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Runs a drill; raises what went wrong first, out of the groups in which tasks raise."""
    try:
        return asyncio.run(drill)
    except ExceptionGroup as group:
        first: Exception = group
        while isinstance(first, ExceptionGroup):
            first = first.exceptions[0]
        raise first from group


def _dying() -> tuple[str, ...]:
    """What a command begins with whose process is to die with us: one of many threads must not do more than fork."""
    found = shutil.which("setpriv")
    return () if found is None else (found, "--pdeathsig", "KILL")


def minted(*args: str, folder: Path, environment: dict[str, str]) -> str:
    """What `streamward` with these arguments prints."""
    ended = subprocess.run(  # noqa: S603 - our own program
        [*COMMAND, *args], env=environment, cwd=folder, capture_output=True, check=False
    )
    if ended.returncode:
        raise ProcessFailed(args[0], ended.stderr.decode(errors="replace"))
    return ended.stdout.decode().strip()


def call(
    method: str,
    url: str,
    *,
    body: bytes | None = None,
    kind: str = "application/json",
    token: str | None = None,
    is_forced: bool = False,
) -> Any:
    """One request, if need be whatever the state of what it changes; the answer's JSON, or ProcessFailed."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=ANSWERED_WITHIN)
    headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
    headers |= {"If-Match": "*"} if is_forced else {}
    path = f"{place.path}?{place.query}" if place.query else place.path
    try:
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        content = answer.read()
    except (OSError, http.client.HTTPException) as error:  # the latter of a process that died in the middle of a word
        raise ProcessFailed(place.path, str(error)) from error
    finally:
        connection.close()
    if answer.status >= http.HTTPStatus.BAD_REQUEST:
        raise ProcessFailed(place.path, f"{answer.status}: {content[:500].decode(errors='replace')}")
    return json.loads(content) if content else None
