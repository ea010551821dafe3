"""go2rtc as a process of ours."""

import asyncio
import contextlib
import http.client
import os
import socket
import stat
from collections.abc import AsyncIterator
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest

from streamward.drivers import go2rtc
from streamward.drivers.go2rtc import MEMORY, Go2rtc, Go2rtcMissing, Go2rtcSilent
from streamward.model.secret import Secret
from streamward.model.source_url import parse
from streamward.vision.restreams import Connections, Restream, restream
from tests.support.cameras import watched
from tests.support.media_servers import go2rtc_program
from tests.support.plants import at
from tests.support.recorders import a_recorder


@contextlib.asynccontextmanager
async def a_server(
    folder: Path, program: Path | None = None, *, memory: tuple[Path, ...] = MEMORY
) -> AsyncIterator[Go2rtc]:
    server = Go2rtc(program or Path(go2rtc_program()), fallback=folder, on_end=lambda: None, memory=memory)
    try:
        yield server
    finally:
        await server.stop()
        assert not server.pids


def api_of(server: Go2rtc) -> str:
    """Where it is asked: of its two ports the one that is not for RTSP."""
    pid, rtsp = server.pids[0], server.url("").reveal().rpartition(":")[2].strip("/")
    sockets = {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ports = {int(row[1][9:], 16) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets}
    (api,) = ports - {int(rtsp)}
    return f"http://127.0.0.1:{api}"


async def test_it_shows_what_it_was_told_and_keeps_its_port_when_it_is_started_again(tmp_path: Path) -> None:
    async with a_recorder() as nvr, a_server(tmp_path) as server:
        camera = parse(nvr.url("cam-1")).url
        for _ in range(2):
            await server.start()
            told = restream("cam-1/key", camera, None, address=ip_address("127.0.0.1"))
            assert await server.name(told)
            assert await server.connections() == {told.name: Connections()}
            url = server.url(told.name).reveal()
            ear = await watched(at(url), 25)
            assert not ear.troubles
        assert url == server.url(told.name).reveal()
        await server.forget(told.name)
        assert await server.connections() == {}


@pytest.mark.parametrize("has_memory_disk", [True, False])
def test_its_config_is_left_nowhere(tmp_path: Path, has_memory_disk: bool, caplog: pytest.LogCaptureFixture) -> None:
    async def started() -> None:
        async with a_server(tmp_path, memory=MEMORY if has_memory_disk else ()) as server:
            await server.start()

    asyncio.run(started())
    assert not [each for folder in (tmp_path, *MEMORY) for each in folder.glob(f"streamward-{os.getpid()}-*")]
    assert ("there is no memory disk" in caplog.text) is not has_memory_disk


async def test_it_does_nothing_for_strangers_and_runs_no_programs(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        await server.start()
        assert not await server.name(Restream(name="x", source=Secret("exec:true"), remote=""))
        async with httpx.AsyncClient(base_url=api_of(server), timeout=60) as stranger:
            for path in ("/api/streams", "/api/config", "/api/log", "/api/exit", "/"):
                assert (await stranger.get(path)).status_code == http.client.UNAUTHORIZED


async def test_a_port_that_somebody_else_took_is_not_shared(tmp_path: Path) -> None:
    async with a_server(tmp_path) as server:
        await server.start()
        await server.stop()
        port = int(server.url("").reveal().rpartition(":")[2].strip("/"))
        with socket.create_server(("127.0.0.1", port)), pytest.raises(Go2rtcSilent, match="in use"):
            await server.start()
        await server.start()
        assert server.is_running


async def test_a_program_that_ends_at_once_is_one_sentence(tmp_path: Path) -> None:
    program = tmp_path / "go2rtc"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(stat.S_IRWXU)
    assert go2rtc.found(program) == program
    async with a_server(tmp_path, program) as server:
        with pytest.raises(Go2rtcSilent, match="it ended at once"):
            await server.start()


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Go2rtcMissing, match="nowhere"):
        go2rtc.found(tmp_path / "nowhere")
