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


class LateServer:
    """Answers `/v1/SECONDS` so much later, and everything else when `release` is called."""

    def __init__(self) -> None:
        self._held = asyncio.Event()
        self._serving: list[asyncio.Task[Any]] = []  # one for each connection
        self.requests: list[tuple[int, str]] = []  # number of the connection, path
        self.arrived = asyncio.Semaphore(0)
        self.closed: asyncio.Queue[int] = asyncio.Queue()  # numbers of connections that the client closed

    def release(self) -> None:
        self._held.set()

    async def __aenter__(self) -> ControlPlane:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._plane = ControlPlane(f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}")
        return self._plane

    async def __aexit__(self, *exc: object) -> None:
        self._plane.close()
        self._server.close()
        await self._server.wait_closed()
        async with asyncio.timeout(PATIENCE):
            await asyncio.gather(*self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, serving = len(self._serving), asyncio.current_task()
        assert serving is not None
        self._serving.append(serving)
        while head := await reader.read(65_536):
            path = head.split(b" ", 2)[1].decode()
            self.requests.append((number, path))
            self.arrived.release()
            delay = path.removeprefix("/v1/")
            if delay[0].isdigit():
                asyncio.get_running_loop().call_later(float(delay), writer.write, OK)
            else:
                asyncio.get_running_loop().create_task(self._answer_on_release(writer))
        self.closed.put_nowait(number)
        writer.close()

    async def _answer_on_release(self, writer: asyncio.StreamWriter) -> None:
        await self._held.wait()
        writer.write(OK)


async def test_a_call_is_answered_after_seconds_while_others_go_on_fresh_connections() -> None:
    server = LateServer()
    async with server as plane, asyncio.TaskGroup() as calls:
        late = {
            delay: calls.create_task(plane.get(f"/v1/{delay}", dict, within=PATIENCE)) for delay in ("4", "1.5", "1.6")
        }
        for _ in late:
            await server.arrived.acquire()
        for _ in range(3):
            assert await plane.get("/v1/0", dict, within=PATIENCE) == {}
        assert not any(call.done() for call in late.values())
        assert await late["1.5"] == {}
        assert not late["4"].done()
        assert await plane.get("/v1/0.0", dict, within=PATIENCE) == {}
        assert await late["1.6"] == await late["4"] == {}
        used = {path: number for number, path in server.requests}
        assert len({used["/v1/4"], used["/v1/1.5"], used["/v1/1.6"], used["/v1/0"]}) == 4
        assert used["/v1/0"] == used["/v1/0.0"]  # it answered in time, so it is kept


async def test_after_a_slow_answer_the_next_call_goes_on_a_fresh_connection() -> None:
    server = LateServer()
    async with server as plane:
        for path in ("/v1/0", "/v1/1.2", "/v1/0"):
            assert await plane.get(path, dict, within=PATIENCE) == {}
        assert [number for number, _ in server.requests] == [0, 0, 1]


async def test_a_cancelled_call_closes_its_own_connection_only() -> None:
    server = LateServer()
    async with server as plane, asyncio.TaskGroup() as calls:
        held = [calls.create_task(plane.post(f"/v1/held/{each}", {}, dict, within=PATIENCE)) for each in range(40)]
        for _ in held:
            await server.arrived.acquire()
        held[7].cancel()
        closed = await server.closed.get()
        server.release()
        answers = await asyncio.gather(*held, return_exceptions=True)
        assert [answer for each, answer in enumerate(answers) if each != 7] == [{}] * 39
        assert isinstance(answers[7], asyncio.CancelledError)
        assert (closed, "/v1/held/7") in server.requests


@pytest.mark.parametrize(
    ("said", "connections"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: z\r\n\r\n", 1),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, 1),
        (OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), 2),
        (OK.replace(b"HTTP/1.1", b"HTTP/1.0"), 2),
    ],
)
async def test_answers_may_take_any_form_of_http_1(said: bytes, connections: int) -> None:
    server = Server(said)
    assert await asked(server, 2, within=PATIENCE) == [{}, {}]
    assert server.connections == connections


async def test_an_answer_may_end_with_its_connection() -> None:
    assert await asked(Server(b"HTTP/1.1 200 OK\r\n\r\n{}", hangs_up=True), 2, within=PATIENCE) == [{}, {}]


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffff\r\n",
        b"HTTP/1.1 twohundred OK\r\n\r\n",
        b"HTTP/1.1\r\n\r\n",
        b"x" * 100_000,
        b"HTTP/1.1 204 No Content\r\n\r\n",
    ],
)
async def test_an_answer_that_cannot_be_read_is_no_answer(said: bytes) -> None:
    server = Server(said)
    assert await asked(server, 1, within=PATIENCE) == [None]
    assert server.connections == 1
