"""The real control process over TLS: who gets through, who does not, and a certificate renewed while it serves."""

import signal
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography import x509

from tests.support.certificates import Authority, Pair
from tests.support.processes import ControlProcess, control, run

RENEWED_WITHIN = 60.0  # seconds after a hangup signal


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def ca(folder: Path) -> Authority:
    return Authority(folder)


@pytest.fixture(scope="module")
def server(ca: Authority) -> Pair:
    return ca.issue("server")


@pytest.fixture(scope="module")
def served(folder: Path, ca: Authority, server: Pair) -> Iterator[ControlProcess]:
    """One process with TLS, for tests that change nothing."""
    with control(folder / "data", trust=ca.trusting(), **server.settings()) as process:
        yield process


@pytest.fixture(scope="module")
def guarded(folder: Path, ca: Authority, server: Pair) -> Iterator[ControlProcess]:
    """One process that wants to see certificates of clients."""
    trust = ca.trusting(ca.issue("ada"))
    with control(folder / "guarded", trust=trust, TLS_CLIENT_CA=ca.file, **server.settings()) as process:
        yield process


def address(process: ControlProcess) -> tuple[str, int]:
    url = httpx.URL(process.url)
    assert url.port is not None
    return url.host, url.port


def ready(process: ControlProcess, trust: ssl.SSLContext) -> int:
    return httpx.get(f"{process.url}/ready", verify=trust, timeout=60).status_code


def serial(process: ControlProcess, trust: ssl.SSLContext) -> int:
    """Which certificate a new connection is shown."""
    with (
        socket.create_connection(address(process), timeout=60) as plain,
        trust.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        shown = connection.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def test_calls_are_answered_over_tls_and_the_address_says_so(served: ControlProcess) -> None:
    assert served.url.startswith("https://127.0.0.1:")
    with served.client("--runner", "r1") as runner:
        assert runner.get("/v1/cameras").status_code == 200


def test_a_client_that_does_not_know_the_ca_turns_away(served: ControlProcess) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"{served.url}/ready", timeout=60)


def test_plain_http_is_turned_away_and_nobody_else_is_hurt(served: ControlProcess, ca: Authority) -> None:
    with socket.create_connection(address(served), timeout=60) as plain:
        plain.sendall(b"GET /ready HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            answer = plain.recv(4096)
        except ConnectionResetError:
            answer = b""
    assert not answer.startswith(b"HTTP")
    assert ready(served, ca.trusting()) == 200


def test_a_refused_handshake_leaves_nothing_in_the_log(guarded: ControlProcess, ca: Authority) -> None:
    with socket.create_connection(address(guarded), timeout=60) as plain:
        plain.sendall(b"\x16\x03\x01\x00\x05nonsense")
        while plain.recv(4096):
            continue
    with pytest.raises(httpx.TransportError):
        ready(guarded, ca.trusting())
    (log,) = guarded.data.parent.glob(f"{guarded.data.name}.*.log")
    assert log.read_text() == ""


def test_a_good_client_certificate_gets_through(guarded: ControlProcess) -> None:
    with guarded.client("--runner", "r1") as runner:
        assert runner.get("/v1/cameras").status_code == 200


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2])
def test_without_a_client_certificate_nobody_gets_through(
    guarded: ControlProcess, ca: Authority, newest: ssl.TLSVersion
) -> None:
    with pytest.raises(httpx.TransportError):
        ready(guarded, ca.trusting(newest=newest))


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2])
def test_a_client_certificate_of_another_ca_does_not_get_through(
    guarded: ControlProcess, folder: Path, ca: Authority, newest: ssl.TLSVersion
) -> None:
    stranger = Authority(folder, "stranger").issue("mallory")
    with pytest.raises(httpx.TransportError):
        ready(guarded, ca.trusting(stranger, newest=newest))


def test_a_certificate_is_renewed_while_it_serves(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    first = ca.issue("server")
    with control(tmp_path / "data", trust=ca.trusting(), **first.settings()) as process:
        with process.client("--runner", "r1") as runner:
            assert serial(process, ca.trusting()) == first.serial
            renewed = ca.issue("server")
            process.process.send_signal(signal.SIGHUP)
            began = time.monotonic()
            while serial(process, ca.trusting()) == first.serial and time.monotonic() - began < RENEWED_WITHIN:
                continue
            assert serial(process, ca.trusting()) == renewed.serial
            assert runner.get("/v1/cameras").status_code == 200  # also over what was open before
        assert process.stop()[0] == 0


def test_with_tls_nothing_is_said_of_tokens_in_the_clear(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    with control(tmp_path / "data", HOST="0.0.0.0", trust=ca.trusting(), **ca.issue("server").settings()) as process:
        assert process.url.startswith("https://0.0.0.0:")
        assert "in the clear" not in process.said


@pytest.mark.parametrize("harm", ["gone", "of another"])
def test_files_that_cannot_be_used_are_one_sentence_at_start(tmp_path: Path, harm: str) -> None:
    ca = Authority(tmp_path)
    pair, other = ca.issue("server"), ca.issue("other")
    key = tmp_path / "nowhere.key" if harm == "gone" else other.key
    refused = run("control", data=tmp_path / "data", TLS_CERTIFICATE=pair.certificate, TLS_KEY=key)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert f"cannot serve TLS: STREAMWARD_TLS_KEY {key}" in refused.stderr
    assert not (tmp_path / "data").exists()
