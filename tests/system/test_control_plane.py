"""The control plane as a Worker asks it: real processes, and servers that stall."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from streamward.drivers.control_plane import ControlPlane
from streamward.model.secret import Secret
from streamward.protocol.leases import AcquireCamera, GrantedLease
from streamward.protocol.problem import Problem
from tests.support.certificates import Authority
from tests.support.processes import ControlProcess, control

ACQUIRE = "/v1/leases/camera/acquire"
PATIENCE = 60.0  # seconds for an answer that comes
BRIEF = 0.5  # seconds for one that does not
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Caller:
    """A runner that asks for one camera."""

    def __init__(self, process: ControlProcess, runner: str = "r1", **tls: Any) -> None:
        self._message = AcquireCamera(runner_id=runner, camera_uuid="harbour-1", ttl_seconds=60)
        self._token = Secret(process.token("--runner", runner))
        self.plane = ControlPlane(process.url, **tls)

    async def acquire(self, *, within: float = PATIENCE, kind: type[Any] = GrantedLease) -> Any:
        return await self.plane.post(ACQUIRE, self._message, kind, within=within, token=self._token)


async def test_answers_and_refusals_are_told_apart(tmp_path: Path) -> None:
    with control(tmp_path / "data", "--demo") as process:
        one, other = Caller(process), Caller(process, "r2")
        granted, refused = await one.acquire(), await other.acquire()
        stranger = ControlPlane(process.url)
        nobody = await stranger.post(ACQUIRE, {}, GrantedLease, within=PATIENCE)
        assert isinstance(granted, GrantedLease)
        assert (granted.owner_id, granted.version) == ("r1", 1)
        assert isinstance(refused, Problem)
        assert refused.reason == "held"
        assert isinstance(nobody, Problem)
        assert nobody.status == 401
        assert await one.acquire(kind=Problem) is None  # an answer, but not that one
        for plane in (one.plane, other.plane, stranger):
            plane.close()


async def test_a_control_plane_that_stands_still_is_given_up_and_found_again(tmp_path: Path) -> None:
    with control(tmp_path / "data", "--demo") as process:
        caller = Caller(process)
        assert await caller.acquire()
        os.kill(process.process.pid, signal.SIGSTOP)
        try:
            stalled = [await caller.acquire(within=BRIEF) for _ in range(2)]
        finally:
            os.kill(process.process.pid, signal.SIGCONT)
        assert stalled == [None, None]
        assert (await caller.acquire()).version == 1
        caller.plane.close()


async def test_one_that_was_restarted_answers_the_first_call(tmp_path: Path) -> None:
    with control(tmp_path / "data", "--demo") as process:
        caller, port = Caller(process), process.url.rpartition(":")[2]
        assert await caller.acquire()
        assert process.stop()[0] == 0
        assert await caller.acquire(within=BRIEF) is None
    with control(tmp_path / "data", PORT=port):
        assert (await caller.acquire()).version == 1
        caller.plane.close()


async def test_tls_is_spoken_with_one_that_is_trusted_and_no_other(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    with control(tmp_path / "data", "--demo", trust=ca.trusting(), **ca.issue("server").settings()) as process:
        trusting, wary = Caller(process, tls=ca.trusting()), Caller(process)
        assert [(await trusting.acquire()).version for _ in range(3)] == [1, 1, 1]
        assert await wary.acquire() is None
        trusting.plane.close()


class Server:
    """Says the same to every request, and may hang up then."""

    def __init__(self, said: bytes, *, hangs_up: bool = False) -> None:
        self._said = said
        self._hangs_up = hangs_up
        self.asked = 0
        self.ended = asyncio.Semaphore(0)
        self.connections = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        while head := await reader.read(65_536):
            self.asked += head.count(b"POST ")
            writer.write(self._said)
            if self._hangs_up:
                break
        writer.close()
        self.ended.release()


async def asked(server: Server, times: int, *, within: float) -> list[Any]:
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    plane = ControlPlane(f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}")
    answers = [await plane.post("/v1/x", {}, dict, within=within) for _ in range(times)]
    plane.close()
    async with asyncio.timeout(PATIENCE):
        for _ in range(server.connections):
            await server.ended.acquire()
    listening.close()
    await listening.wait_closed()
    return answers


async def test_one_connection_does_for_all_calls_until_it_is_hung_up() -> None:
    kept = Server(OK)
    assert await asked(kept, 3, within=PATIENCE) == [{}, {}, {}]
    assert (kept.connections, kept.asked) == (1, 3)
    brief = Server(OK, hangs_up=True)
    assert await asked(brief, 3, within=PATIENCE) == [{}, {}, {}]
    assert brief.asked == 3  # nothing is sent twice


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"])
async def test_a_call_that_is_given_up_takes_its_connection_with_it(said: bytes) -> None:
    mute = Server(said)
    assert await asked(mute, 2, within=BRIEF) == [None, None]
    assert mute.connections == 2


@pytest.mark.parametrize(
    "said", [b"220 mail.example ESMTP\r\n", b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\n{}"]
)
async def test_what_is_no_control_plane_is_no_answer(said: bytes) -> None:
    assert await asked(Server(said, hangs_up=True), 1, within=PATIENCE) == [None]
