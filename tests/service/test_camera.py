"""The camera client over real sockets, against the simulated recorder: pictures come, and failures have their names."""

import asyncio
import socket
from dataclasses import replace

import pytest

from streamward.drivers.addresses import HostLimits
from streamward.model.address_policy import DEFAULT_LIMITS, AddressPolicy
from streamward.model.source_url import Credential
from streamward.model.stream_error import StreamErrorCode, StreamFailure
from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.nvr.spec import Access
from tests.support.cameras import dial, watched
from tests.support.news import PATIENCE
from tests.support.plants import at
from tests.support.recorders import ADA, WRONG, a_recorder


@pytest.mark.parametrize("codec", NAL_CODECS)
async def test_pictures_come_from_a_keyframe_on(codec: VideoCodec):
    async with a_recorder(codec=codec) as nvr:
        ear = await watched(at(nvr.url("cam-1")), 30)
    assert ear.codecs == [codec]
    assert ear.units[0].is_keyframe


async def test_a_session_is_given_back_when_its_watcher_is_cancelled():
    async with a_recorder() as nvr:
        await watched(at(nvr.url("cam-1")), 2)
        assert nvr.recorder.sessions.count(0.0) == 0


async def test_a_login_is_made_and_a_wrong_one_is_refused_once():
    async with a_recorder(access=Access(credential=ADA)) as nvr:
        assert (await watched(at(nvr.url("cam-1"), credential=ADA), 2)).codecs
        failed = await dial(at(nvr.url("cam-1"), credential=WRONG))
    assert (failed.code, failed.is_login_refused) == (StreamErrorCode.RTSP_AUTH_FAILED, True)
    assert not failed.is_login_open
    assert "byron" not in repr(failed)


async def test_without_a_login_nothing_is_refused():
    async with a_recorder(access=Access(credential=ADA)) as nvr:
        failed = await dial(at(nvr.url("cam-1")))
    assert (failed.code, failed.is_login_refused) == (StreamErrorCode.RTSP_AUTH_FAILED, False)


async def test_a_camera_that_is_not_there_is_not_found():
    async with a_recorder() as nvr:
        failed = await dial(at(nvr.url("cam-1").replace("cam-1", "cam-9")))
    assert failed.code is StreamErrorCode.RTSP_NOT_FOUND


async def test_an_address_that_the_site_does_not_allow_is_never_connected_to():
    async with a_recorder() as nvr:
        failed = await dial(at(nvr.url("cam-1"), addresses=AddressPolicy()))
        named = await dial(at(nvr.url("cam-1").replace("127.0.0.1", "localhost"), addresses=AddressPolicy()))
        assert nvr.recorder.sessions.count(0.0) == 0
    assert failed.code is named.code is StreamErrorCode.URL_FORBIDDEN
    assert "loopback" in failed.detail


async def test_an_address_that_the_runner_s_settings_do_not_permit_is_never_connected_to():
    async with a_recorder() as nvr:
        addresses = [at(nvr.url("cam-1").replace("127.0.0.1", host)) for host in ("127.0.0.1", "localhost")]
        failures = [await dial(replace(each, limits=HostLimits())) for each in addresses]
        installed = await dial(replace(addresses[1], installation=DEFAULT_LIMITS))
        assert nvr.recorder.sessions.count(0.0) == 0
    assert {failure.code for failure in failures} == {StreamErrorCode.SOURCE_NOT_PERMITTED}
    assert "STREAMWARD_RUNNER_SOURCE_" in failures[0].detail
    assert (installed.code, "the installation" in installed.detail) == (StreamErrorCode.URL_FORBIDDEN, True)


async def test_a_port_where_nobody_listens_is_refused():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert (await dial(at(f"rtsp://127.0.0.1:{port}/x"))).code is StreamErrorCode.TCP_REFUSED


async def test_a_name_that_nobody_knows_is_told():
    assert (await dial(at("rtsp://no-such-host.invalid/x"))).code is StreamErrorCode.DNS_FAILED


class Mute(asyncio.Protocol):
    """Takes a connection, says so much, one answer to each request, and tells when it is over."""

    def __init__(self, *answers: bytes) -> None:
        self.gone = asyncio.Event()
        self._answers = list(answers)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        if self._answers:
            self._transport.write(self._answers.pop(0))

    def connection_lost(self, exc: Exception | None) -> None:
        self.gone.set()


class Hasty(Mute):
    """Hangs up on everybody, or only on who says something."""

    def __init__(self, *, hears_first: bool) -> None:
        super().__init__()
        self._hears_first = hears_first

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if not self._hears_first:
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._transport.close()


async def test_one_who_hangs_up_on_everybody_is_not_there():
    async with asyncio.timeout(PATIENCE):
        while not (failed := await dial_at(Hasty(hears_first=False))).is_unreachable:
            pass  # a busy machine: the hanging up was not seen in time
    assert failed.code is StreamErrorCode.TCP_REFUSED


async def test_one_who_hangs_up_when_he_is_told_the_camera_is_there():
    failed = await dial_at(Hasty(hears_first=True))
    assert (failed.code, failed.is_unreachable) == (StreamErrorCode.TCP_REFUSED, False)


async def dial_at(mute: Mute, *, credential: Credential | None = None) -> StreamFailure:
    """Dials it and waits until it was left alone."""
    server = await asyncio.get_running_loop().create_server(lambda: mute, "127.0.0.1", 0)
    failed = await dial(at(f"rtsp://127.0.0.1:{server.sockets[0].getsockname()[1]}/x", credential=credential))
    await mute.gone.wait()
    server.close()
    await server.wait_closed()
    return failed


async def test_a_server_that_says_nothing_is_given_up():
    failed = await dial_at(Mute(), credential=ADA)
    assert (failed.code, failed.is_login_open) == (StreamErrorCode.TCP_TIMEOUT, False)


async def test_a_login_that_is_not_answered_is_neither_good_nor_refused():
    challenge = b'RTSP/1.0 401 Unauthorized\r\nCSeq: 1\r\nWWW-Authenticate: Basic realm="x"\r\n\r\n'
    failed = await dial_at(Mute(challenge), credential=ADA)
    assert (failed.code, failed.is_login_open) == (StreamErrorCode.TCP_TIMEOUT, True)
    assert not failed.is_login_refused
