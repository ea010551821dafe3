"""RTSPS over real sockets: the camera is who it says, or it is not watched."""

import asyncio
import ssl
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from streamward.drivers import camera
from streamward.drivers.addresses import CameraAddress
from streamward.model.stream_error import StreamErrorCode
from streamward.nvr.server import Nvr
from tests.support.cameras import dial, watched
from tests.support.certificates import Authority, Pair
from tests.support.plants import at
from tests.support.recorders import a_recorder


def serving(pair: Pair, **rest: Any) -> Nvr:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return a_recorder(tls=context, **rest)


def trusting(address: CameraAddress, authority: Authority | None) -> CameraAddress:
    return replace(address, ca_file=None if authority is None else str(authority.file))


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


async def test_pictures_come_from_a_camera_that_proves_its_name(authority: Authority):
    async with serving(authority.issue("nvr")) as nvr:
        address = trusting(at(nvr.url("cam-1")), authority)
        assert (await watched(address, 5)).units
        named = trusting(at(nvr.url("cam-1").replace("127.0.0.1", "localhost")), authority)
        assert (await watched(named, 5)).units


async def test_a_camera_with_another_name_is_refused(authority: Authority):
    async with serving(authority.issue("nvr"), host="0.0.0.0") as nvr:
        failure = await dial(trusting(at(nvr.url("cam-1").replace("0.0.0.0", "127.0.0.2")), authority))
    assert failure.code is StreamErrorCode.TLS_FAILED


async def test_an_authority_that_is_not_trusted_is_refused(authority: Authority, tmp_path: Path):
    async with serving(authority.issue("nvr")) as nvr:
        address = at(nvr.url("cam-1"))
        failures = [await dial(trusting(address, other)) for other in (None, Authority(tmp_path, "other"))]
        assert nvr.recorder.sessions.count(0.0) == 0
    assert {failure.code for failure in failures} == {StreamErrorCode.TLS_FAILED}


async def test_a_certificate_that_has_run_out_is_refused(authority: Authority):
    async with serving(authority.issue("nvr", lasts=timedelta(minutes=-1))) as nvr:
        failure = await dial(trusting(at(nvr.url("cam-1")), authority))
    assert failure.code is StreamErrorCode.TLS_FAILED


async def test_a_server_without_tls_is_refused(authority: Authority):
    async with a_recorder() as nvr:
        failure = await dial(trusting(at(nvr.url("cam-1").replace("rtsp:", "rtsps:")), authority))
    assert failure.code is StreamErrorCode.TLS_FAILED


async def test_a_file_of_certificates_that_cannot_be_read_is_told(authority: Authority):
    async with serving(authority.issue("nvr")) as nvr:
        failure = await dial(replace(at(nvr.url("cam-1")), ca_file="no-such-file.pem"))
    assert failure.code is StreamErrorCode.TLS_FAILED
    assert "file" in failure.detail


async def test_a_file_of_certificates_that_was_replaced_counts_at_once(authority: Authority, tmp_path: Path):
    other = Authority(tmp_path, "other")
    file = tmp_path / "trusted.pem"
    file.write_bytes(other.file.read_bytes())
    async with serving(authority.issue("nvr")) as nvr:
        address = replace(at(nvr.url("cam-1")), ca_file=str(file))
        assert (await dial(address)).code is StreamErrorCode.TLS_FAILED
        file.write_bytes(authority.file.read_bytes())
        assert (await watched(address, 2)).units


async def test_a_probe_says_nothing_and_needs_no_certificate(authority: Authority):
    async with serving(authority.issue("nvr")) as nvr:
        assert await camera.probe(at(nvr.url("cam-1")))
    assert not await camera.probe(at(nvr.url("cam-1")))


async def test_a_handshake_that_nobody_answers_has_an_end(authority: Authority):
    server = await asyncio.get_running_loop().create_server(asyncio.Protocol, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    failure = await dial(trusting(at(f"rtsps://127.0.0.1:{port}/x"), authority))
    server.close()
    await server.wait_closed()
    assert failure.code is StreamErrorCode.TLS_FAILED
