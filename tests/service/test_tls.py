"""TLS without a network: which handshakes succeed, and how a renewed certificate is taken up."""

import contextlib
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from streamward.control.tls import LOOK_EVERY, Tls, TlsFiles, TlsUnusable
from tests.support.certificates import Authority, Pair


@pytest.fixture
def ca(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def pair(ca: Authority) -> Pair:
    return ca.issue("server")


def serving(pair: Pair, *, client_ca: Path | None = None) -> Tls:
    return Tls(TlsFiles(certificate=pair.certificate, key=pair.key, client_ca=client_ca))


def refusal(certificate: Path, key: Path, *, client_ca: Path | None = None) -> str:
    with pytest.raises(TlsUnusable) as refused:
        Tls(TlsFiles(certificate=certificate, key=key, client_ca=client_ca))
    return str(refused.value)


def handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> ssl.SSLObject:
    """Lets both sides talk until they agree, or one refuses; the client's side of it."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    calling = client.wrap_bio(down, up, server_hostname="localhost")
    answering = server.wrap_bio(up, down, server_side=True)
    for _ in range(4):
        for side in (calling, answering):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    return calling


def serial(tls: Tls, client: ssl.SSLContext) -> int:
    """Which certificate is served."""
    shown = handshake(tls.context, client).getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def test_a_client_that_trusts_the_ca_gets_through(ca: Authority, pair: Pair) -> None:
    assert handshake(serving(pair).context, ca.trusting()).version() == "TLSv1.3"
    assert handshake(serving(pair).context, ca.trusting(newest=ssl.TLSVersion.TLSv1_2)).version() == "TLSv1.2"


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
def test_versions_older_than_1_2_are_refused(ca: Authority, pair: Pair) -> None:
    old = ca.trusting(newest=ssl.TLSVersion.TLSv1_1)
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        handshake(serving(pair).context, old)


def test_with_a_client_ca_only_its_certificates_get_through(tmp_path: Path, ca: Authority, pair: Pair) -> None:
    tls = serving(pair, client_ca=ca.file)
    stranger = Authority(tmp_path, "stranger").issue("mallory")
    assert handshake(tls.context, ca.trusting(ca.issue("ada"))).version() == "TLSv1.3"
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        handshake(tls.context, ca.trusting())
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(tls.context, ca.trusting(stranger))


async def test_a_renewed_certificate_is_served_to_new_connections(ca: Authority, pair: Pair) -> None:
    tls = serving(pair)
    renewed = ca.issue("server")
    assert serial(tls, ca.trusting()) == pair.serial
    assert await tls.tick() == LOOK_EVERY
    assert serial(tls, ca.trusting()) == renewed.serial


async def test_a_renewal_that_is_half_there_changes_nothing(ca: Authority, pair: Pair) -> None:
    tls = serving(pair)
    whole = pair.certificate.read_bytes()
    renewed = ca.issue("server")
    fresh = pair.certificate.read_bytes()
    for half in (whole, b"", fresh[:40]):
        pair.certificate.write_bytes(half)
        with pytest.raises(TlsUnusable):
            await tls.tick()
        assert serial(tls, ca.trusting()) == pair.serial
    pair.certificate.write_bytes(fresh)
    await tls.tick()
    assert serial(tls, ca.trusting()) == renewed.serial


def test_files_that_cannot_be_read_are_named(tmp_path: Path, ca: Authority, pair: Pair) -> None:
    nowhere = tmp_path / "nowhere.pem"
    assert f"STREAMWARD_TLS_CERTIFICATE {nowhere} cannot be read" in refusal(nowhere, pair.key)
    assert f"STREAMWARD_TLS_KEY {nowhere} cannot be read" in refusal(pair.certificate, nowhere)
    said = refusal(pair.certificate, pair.key, client_ca=nowhere)
    assert f"STREAMWARD_TLS_CLIENT_CA {nowhere} cannot be read (no such file or directory)" in said
    assert "STREAMWARD_TLS_CLIENT_CA" in refusal(pair.certificate, pair.key, client_ca=pair.key)


def test_files_that_do_not_fit_together_are_named(tmp_path: Path, ca: Authority, pair: Pair) -> None:
    other = ca.issue("other")
    said = refusal(pair.certificate, other.key)
    assert f"{other.key} is not the key of STREAMWARD_TLS_CERTIFICATE {pair.certificate}" in said
    (tmp_path / "text").write_text("no certificate")
    for certificate, key in [(tmp_path / "text", pair.key), (pair.certificate, tmp_path / "text")]:
        assert "is not what it should be, in PEM form" in refusal(certificate, key)


def test_a_key_with_a_password_is_refused_without_asking(ca: Authority) -> None:
    sealed = ca.issue("sealed", password=b"hunter2")
    assert "is sealed with a password" in refusal(sealed.certificate, sealed.key)
