"""RTSPS over real sockets: the camera is who it says, or it is not watched."""

import asyncio
import hashlib
import ssl
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from streamward.drivers import addresses, camera
from streamward.drivers.addresses import CameraAddress, HostLimits
from streamward.drivers.camera_tls import Trust
from streamward.model.secret import Secret
from streamward.model.stream_error import StreamErrorCode
from streamward.nvr.server import Nvr
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import Source
from tests.support.cameras import dial, watched
from tests.support.certificates import Authority, Pair
from tests.support.news import PATIENCE
from tests.support.plants import at
from tests.support.recorders import a_recorder


def serving(pair: Pair, **rest: Any) -> Nvr:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair.certificate, pair.key)
    return a_recorder(tls=context, **rest)


def trusting(address: CameraAddress, authority: Authority | None) -> CameraAddress:
    return replace(address, trust=Trust(ca_file=None if authority is None else str(authority.file)))


def fingerprint_of(pair: Pair) -> str:
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pair.certificate.read_text())).hexdigest()


async def server_is_idle() -> None:
    """The simulated camera has noticed that a handshake was given up."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        await asyncio.wait(others, timeout=PATIENCE)


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
    assert failure.code is StreamErrorCode.TLS_CERT_NAME_MISMATCH


async def test_an_authority_that_is_not_trusted_is_refused(authority: Authority, tmp_path: Path):
    async with serving(authority.issue("nvr")) as nvr:
        address = at(nvr.url("cam-1"))
        failures = [await dial(trusting(address, other)) for other in (None, Authority(tmp_path, "other"))]
        assert nvr.recorder.sessions.count(0.0) == 0
    assert {failure.code for failure in failures} == {StreamErrorCode.TLS_CERT_UNTRUSTED}


async def test_a_certificate_that_has_run_out_is_refused(authority: Authority):
    async with serving(authority.issue("nvr", lasts=timedelta(minutes=-1))) as nvr:
        failure = await dial(trusting(at(nvr.url("cam-1")), authority))
    assert failure.code is StreamErrorCode.TLS_CERT_EXPIRED


async def test_a_server_without_tls_is_refused(authority: Authority):
    async with a_recorder() as nvr:
        failure = await dial(trusting(at(nvr.url("cam-1").replace("rtsp:", "rtsps:")), authority))
    assert failure.code is StreamErrorCode.TLS_FAILED


async def test_the_site_s_ca_is_trusted_and_no_other(authority: Authority, tmp_path: Path):
    other = Authority(tmp_path, "other")
    async with serving(authority.issue("nvr")) as nvr:
        address = at(nvr.url("cam-1"))
        assert (await watched(replace(address, trust=Trust(ca=authority.file.read_text())), 2)).units
        both = Trust(ca=other.file.read_text() + authority.file.read_text())
        assert (await watched(replace(address, trust=both), 2)).units
        failure = await dial(replace(address, trust=Trust(ca=other.file.read_text())))
    assert failure.code is StreamErrorCode.TLS_CERT_UNTRUSTED


def test_what_a_worker_is_told_is_what_a_certificate_is_checked_by():
    url = ClearText(Secret("rtsps://192.0.2.7/live"))
    source = Source(camera_uuid="cam-1", url=url, site_id="site-1", tenant_id="acme", tls_ca="PEM", ca_file="ca.pem")
    told = structs.replace(source, tls_fingerprint=":".join(["AB"] * 32))
    assert addresses.address(told, HostLimits()).trust == Trust(fingerprint="ab" * 32, ca="PEM", ca_file="ca.pem")
    assert addresses.address(source, HostLimits()).trust.fingerprint is None


async def test_a_pinned_certificate_is_accepted_whoever_issued_it_and_however_old_it_is(authority: Authority):
    pair = authority.issue("nvr", lasts=timedelta(minutes=-1))
    async with serving(pair, host="0.0.0.0") as nvr:  # its name is wrong, too
        address = at(nvr.url("cam-1").replace("0.0.0.0", "127.0.0.2"))
        assert (await watched(replace(address, trust=Trust(fingerprint=fingerprint_of(pair))), 2)).units


async def test_a_camera_with_another_certificate_than_the_pinned_one_is_sent_nothing(authority: Authority):
    pair, other = authority.issue("nvr"), authority.issue("other")
    async with serving(pair) as nvr:
        failure = await dial(replace(at(nvr.url("cam-1")), trust=Trust(fingerprint=fingerprint_of(other))))
        assert nvr.recorder.sessions.count(0.0) == 0
    await server_is_idle()
    assert failure.code is StreamErrorCode.TLS_CERT_PIN_MISMATCH
    assert fingerprint_of(pair) in failure.detail  # to be compared with the camera's own, and pinned


async def test_with_a_ca_and_a_pin_both_are_checked(authority: Authority, tmp_path: Path):
    pair, stranger = authority.issue("nvr"), Authority(tmp_path, "other")
    async with serving(pair) as nvr:
        address, pin = at(nvr.url("cam-1")), fingerprint_of(pair)
        trusted = Trust(fingerprint=pin, ca=authority.file.read_text())
        assert (await watched(replace(address, trust=trusted), 2)).units
        untrusted = replace(address, trust=Trust(fingerprint=pin, ca=stranger.file.read_text()))
        assert (await dial(untrusted)).code is StreamErrorCode.TLS_CERT_UNTRUSTED
        unpinned = replace(address, trust=replace(trusted, fingerprint="0" * 64))
        assert (await dial(unpinned)).code is StreamErrorCode.TLS_CERT_PIN_MISMATCH
    await server_is_idle()


async def test_a_file_of_certificates_that_cannot_be_read_is_told(authority: Authority):
    async with serving(authority.issue("nvr")) as nvr:
        failure = await dial(replace(at(nvr.url("cam-1")), trust=Trust(ca_file="no-such-file.pem")))
    assert failure.code is StreamErrorCode.TLS_FAILED
    assert "file" in failure.detail


async def test_a_file_of_certificates_that_was_replaced_counts_at_once(authority: Authority, tmp_path: Path):
    other = Authority(tmp_path, "other")
    file = tmp_path / "trusted.pem"
    file.write_bytes(other.file.read_bytes())
    async with serving(authority.issue("nvr")) as nvr:
        address = replace(at(nvr.url("cam-1")), trust=Trust(ca_file=str(file)))
        assert (await dial(address)).code is StreamErrorCode.TLS_CERT_UNTRUSTED
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
