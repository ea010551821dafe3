"""The real control process on SQLite: S0's conversation, a clean end, and what survives it."""

import contextlib
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.support.processes import ControlProcess, control

ASKING = {"runner_id": "r1", "camera_uuid": "harbour-1", "ttl_seconds": 10}
ACQUIRE, RENEW, RELEASE = (f"/v1/leases/camera/{verb}" for verb in ("acquire", "renew", "release"))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlProcess]:
    """One process for tests that change nothing."""
    with control(tmp_path_factory.mktemp("served") / "data") as process:
        yield process


def acquire_as_other(process: ControlProcess) -> httpx.Response:
    with process.client("--runner", "r2") as other:
        return other.post(ACQUIRE, json=ASKING | {"runner_id": "r2"})


def test_the_whole_conversation_of_s0(data: Path) -> None:
    with control(data, "--demo") as process, process.client("--runner", "r1") as runner:
        listed = runner.get("/v1/cameras", params={"enabled": "true", "limit": 5}).json()
        assert len(listed["items"]) == 5
        assert listed["next_cursor"]
        granted = runner.post(ACQUIRE, json=ASKING)
        assert (granted.status_code, granted.json()["version"], granted.json()["owner_id"]) == (200, 1, "r1")
        assert acquire_as_other(process).status_code == 409
        assert runner.post(RENEW, json=ASKING | {"version": 1}).status_code == 200
        assert runner.post(RENEW, json=ASKING | {"version": 2}).status_code == 404
        assert runner.post("/v1/sites/harbour/budget/consume").status_code == 200
        beat = {"type": "runner.heartbeat", "runner_id": "r1", "streams_owned": 1, "ts": "2026-01-01T00:00:00Z"}
        assert runner.post("/v1/runners/heartbeat", json=beat).status_code == 200
        assert runner.get("/v1/runners/r1").json()["capacity_streams"] == 40
        report = {"camera_uuid": "harbour-1", "runner_id": "r1", "state": "STREAMING", "ts": "2026-01-01T00:00:00Z"}
        assert runner.post("/v1/streams/status/batch", json={"items": [report]}).json() == {"accepted": 1}
        assert runner.get("/v1/cameras/harbour-1/why").json()["running"] is True
        assert runner.post(RELEASE, json={"runner_id": "r1", "camera_uuid": "harbour-1"}).status_code == 200
        assert acquire_as_other(process).json()["version"] == 2


def test_an_operator_steers_and_measures(data: Path) -> None:
    with control(data, "--demo") as process, process.client("--operator", "ada") as operator:
        with process.client("--runner", "r1") as runner:
            runner.post(ACQUIRE, json=ASKING)
        assert operator.patch("/v1/runners/r1", json={"cordoned": True}, headers={"If-Match": "*"}).json()["cordoned"]
        assert [each["runner_id"] for each in operator.get("/v1/runners").json()["items"]] == ["r1"]
        metrics = operator.get("/metrics").text
        assert "owner_changes_total 1.0" in metrics
        assert 'camera_desired{camera_uuid="vineyard-4"} 1.0' in metrics


def test_leases_and_versions_survive_a_restart(data: Path) -> None:
    with control(data, "--demo") as process:
        token = process.token("--runner", "r1")
        with httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as runner:
            assert runner.post(process.url + ACQUIRE, json=ASKING | {"ttl_seconds": 60}).json()["version"] == 1
        assert process.stop()[0] == 0
    with (
        control(data, "--demo") as process,
        httpx.Client(headers={"Authorization": f"Bearer {token}"}, timeout=60) as runner,
    ):
        assert acquire_as_other(process).status_code == 409
        assert runner.post(process.url + RENEW, json=ASKING | {"version": 1}).status_code == 200
        runner.post(process.url + RELEASE, json={"runner_id": "r1", "camera_uuid": "harbour-1"})
        assert acquire_as_other(process).json()["version"] == 2


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_answers_who_waits_and_ends_with_0(data: Path, by: signal.Signals) -> None:
    with control(data) as process, process.client("--runner", "r1") as runner, ThreadPoolExecutor(4) as pool:
        cursor = runner.get("/v1/wait", params={"timeout_s": 0}).json()["cursor"]
        waiting = [pool.submit(runner.get, "/v1/wait", params={"after": cursor, "timeout_s": 25}) for _ in range(4)]
        with process.client("--operator", "ada") as operator:
            while "http_requests_in_progress 5.0" not in operator.get("/metrics").text:  # four waits and this call
                continue
        code, seconds = process.stop(by)
        assert code == 0
        assert seconds < 20  # they would wait longer
        assert all(wait.result().status_code == 200 for wait in waiting)


def test_a_wait_ends_when_a_camera_is_given_back(data: Path) -> None:
    with (
        control(data, "--demo") as process,
        process.client("--runner", "r1") as runner,
        process.client("--runner", "r2") as other,
        ThreadPoolExecutor(1) as pool,
    ):
        runner.post(ACQUIRE, json=ASKING)
        cursor = other.get("/v1/wait", params={"timeout_s": 0}).json()["cursor"]
        waiting = pool.submit(other.get, "/v1/wait", params={"after": cursor, "timeout_s": 25})
        runner.post(RELEASE, json={"runner_id": "r1", "camera_uuid": "harbour-1"})
        assert waiting.result().json()["changed"] is True


def test_the_log_is_json_with_the_fields_of_s0_and_no_token(data: Path) -> None:
    with control(data, "--demo") as process:
        token = process.token("--runner", "r1")
        httpx.post(process.url + ACQUIRE, json=ASKING, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        process.stop()
    (log,) = data.parent.glob("*.log")
    lines = log.read_text().splitlines()
    granted = next(line for line in lines if '"event":"lease.granted"' in line)
    assert '"camera_uuid":"harbour-1"' in granted
    assert token not in log.read_text()


def exchange(process: ControlProcess, sent: bytes) -> bytes:
    """Everything that comes back for these bytes until the other side closes."""
    host, _, port = process.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        with contextlib.suppress(OSError):  # it may close while we still send
            connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"NONSENSE\r\n\r\n", b"400", b"malformed-http"),
        (b"GET /v1/cameras/\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400", b"malformed-http"),
        (b"GET /healthz HTTP/1.1\r\nX-Long: " + b"x" * 700_000, b"431", b"head-too-large"),
        (b"GET /v1/cameras/" + b"x" * 700_000, b"431", b"head-too-large"),
    ],
    ids=["nonsense", "not-ascii", "header", "path"],
)
def test_what_is_hardly_http_is_a_problem_too(
    served: ControlProcess, sent: bytes, status: bytes, reason: bytes
) -> None:
    answer = exchange(served, sent)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert b"application/problem+json" in answer
    assert b'"reason":"' + reason in answer
    assert httpx.get(f"{served.url}/healthz", timeout=60).status_code == 200
