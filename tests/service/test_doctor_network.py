"""The doctor's checks of database, clocks, port and control plane: each failing, and each with a way to mend it."""

import contextlib
import socket
import sqlite3
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from streamward import __version__
from streamward.cli.checks import database, network
from streamward.cli.checks.finding import Finding, Verdict
from streamward.protocol.cameras import CameraPage
from streamward.protocol.codec import encode
from streamward.protocol.health import Alive
from streamward.protocol.problem import MEDIA_TYPE, Problem
from streamward.settings import Settings
from streamward.settings.batch import MIB
from tests.support.answering import Canned, answering

NOW = datetime(2026, 11, 16, tzinfo=UTC)
ALIVE = Canned(body=encode(Alive(status="alive", version=__version__)))
CAMERAS = Canned(body=encode(CameraPage(items=[], next_cursor=None)))


def with_(**parts: Any) -> Settings:
    return Settings.model_validate(parts)


def by_check(findings: list[Finding]) -> dict[str, Verdict]:
    assert all((each.remedy is None) is (each.verdict is Verdict.OK) for each in findings)
    return {each.check: each.verdict for each in findings}


def problem(status: int, reason: str) -> Canned:
    body = encode(Problem(title="No", status=status, detail="so it is", reason=reason))
    return Canned(status=status, body=body, kind=MEDIA_TYPE)


@pytest.mark.parametrize(
    ("seconds", "grain", "verdict"),
    [
        (0.4, 0, Verdict.OK),
        (-1.9, 1, Verdict.OK),  # the second that it leaves out may be over
        (-2.0, 0, Verdict.WARNING),
        (-2.2, 1, Verdict.WARNING),
        (1.9, 0, Verdict.OK),  # it took a second to answer
        (2.2, 1, Verdict.WARNING),
        (8.0, 0, Verdict.WARNING),
        (59.0, 0, Verdict.WARNING),
        (62.0, 0, Verdict.FAILED),
        (-600.0, 1, Verdict.FAILED),
    ],
)
def test_clocks_that_differ_are_told(seconds: float, grain: int, verdict: Verdict) -> None:
    reading = database.Reading(
        theirs=NOW + timedelta(seconds=seconds),
        asked=NOW,
        answered=NOW + timedelta(seconds=1),
        grain=timedelta(seconds=grain),
    )
    found = database.clock("a clock", reading)
    assert found.verdict is verdict
    if abs(seconds) > 60:
        assert "60 s" in str(found.remedy)  # as the control plane tells the host that it refuses


@pytest.mark.parametrize(
    ("found", "is_known", "verdict"),
    [
        ("0002", True, Verdict.OK),
        (None, True, Verdict.WARNING),
        ("0001", True, Verdict.WARNING),
        ("9999", False, Verdict.FAILED),
    ],
)
def test_a_schema_behind_or_ahead_is_told(found: str | None, is_known: bool, verdict: Verdict) -> None:
    assert database.schema(found, newest="0002", is_known=is_known).verdict is verdict


def test_a_database_that_is_not_made_yet_is_told_and_not_made(tmp_path: Path) -> None:
    assert by_check(database.database(Settings(data=tmp_path))) == {"database": Verdict.WARNING}
    assert list(tmp_path.iterdir()) == []


def test_a_database_in_memory_is_told() -> None:
    assert by_check(database.database(with_(database={"url": "memory://"}))) == {"database": Verdict.WARNING}


def test_a_database_that_does_not_answer_is_told_without_its_password() -> None:
    (finding,) = database.database(with_(database={"url": "postgresql://u:hunter2@127.0.0.1:1/x?password=hunter2"}))
    assert finding.verdict is Verdict.FAILED
    assert "postgresql://***@127.0.0.1:1/x does not answer" in finding.detail
    assert "hunter2" not in repr(finding)


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    (tmp_path / "streamward.db").write_text("certainly not a database " * 100)
    assert by_check(database.database(Settings(data=tmp_path))) == {"database": Verdict.FAILED}


def test_a_database_of_another_schema_is_told(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "streamward.db")) as file:
        file.executescript("CREATE TABLE alembic_version (version_num); INSERT INTO alembic_version VALUES ('9999')")
    assert by_check(database.database(Settings(data=tmp_path))) == {
        "database": Verdict.OK,
        "schema": Verdict.FAILED,
        "database size": Verdict.OK,
    }


@pytest.mark.parametrize(("used", "verdict"), [(100 * MIB, Verdict.OK), (1990 * MIB, Verdict.WARNING)])
def test_the_size_of_an_embedded_database_is_told_with_its_limit(used: int, verdict: Verdict) -> None:
    finding = database.size(used, Settings().batch)
    assert finding.verdict is verdict
    assert f"{used // MIB:,} of 2,048 MiB" in finding.detail


def test_a_broker_that_does_not_answer_is_told_without_its_password() -> None:
    assert network.broker(Settings()) is None
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    finding = network.broker(with_(amqp={"url": f"amqp://ada:hunter2@127.0.0.1:{port}/"}))
    assert finding is not None
    assert finding.verdict is Verdict.FAILED
    assert f"127.0.0.1:{port}" in finding.detail
    assert "hunter2" not in repr(finding)


def test_a_redis_that_does_not_answer_is_told_without_its_password() -> None:
    assert network.redis(Settings()) is None
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    finding = network.redis(with_(redis={"url": f"redis://:hunter2@127.0.0.1:{port}/"}))
    assert finding is not None
    assert finding.verdict is Verdict.FAILED
    assert f"127.0.0.1:{port}" in finding.detail
    assert "hunter2" not in repr(finding)


def test_a_port_that_something_else_has_is_told() -> None:
    with answering(Canned(body=b"<html>", kind="text/html")) as stranger:
        taken = Settings(port=int(stranger.url.rpartition(":")[2]))
        assert network.port(taken).verdict is Verdict.FAILED


def test_a_port_that_streamward_has_is_in_order() -> None:
    with answering(ALIVE) as plane:
        served = network.port(Settings(port=int(plane.url.rpartition(":")[2])))
    assert served.verdict is Verdict.OK
    assert f"served by Streamward {__version__}" in served.detail
    assert network.port(Settings(port=0)).verdict is Verdict.OK


def test_a_host_that_is_not_this_machines_is_told() -> None:
    assert network.port(Settings(host="192.0.2.1")).verdict is Verdict.FAILED


def test_a_control_plane_away_fails_only_where_it_was_asked_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        port = bound.getsockname()[1]
    named = with_(data=tmp_path, control={"url": f"http://127.0.0.1:{port}"})
    assert by_check(network.control(named)) == {"control plane": Verdict.FAILED}
    assert by_check(network.control(Settings(data=tmp_path, port=port))) == {"control plane": Verdict.WARNING}


def look(*answers: Canned, token: str | None = "t") -> dict[str, Verdict]:
    """What is found at a control plane that answers to /healthz, /ready and /v1/cameras in this way."""
    with answering(*answers) as plane:
        return by_check(network.control(with_(data="nowhere", token=token, control={"url": plane.url})))


def test_a_control_plane_in_order_has_nothing_to_mend() -> None:
    assert set(look(ALIVE, ALIVE, CAMERAS).values()) == {Verdict.OK}


def test_something_else_in_its_place_is_told() -> None:
    assert look(Canned(body=b"<html>", kind="text/html")) == {"control plane": Verdict.FAILED}


def test_another_version_is_told() -> None:
    other = Canned(body=encode(Alive(status="alive", version="9.9.9")))
    assert look(other, ALIVE, CAMERAS)["control plane"] is Verdict.WARNING


def test_a_control_plane_without_its_database_is_told() -> None:
    assert look(ALIVE, problem(503, "store-unavailable"), CAMERAS)["its database"] is Verdict.FAILED


def test_a_control_planes_clock_that_differs_is_told() -> None:
    past = format_datetime(datetime.now(UTC) - timedelta(minutes=10), usegmt=True)
    slow = Canned(body=ALIVE.body, headers={"Date": past})
    assert look(slow, ALIVE, CAMERAS)["control plane's clock"] is Verdict.FAILED


def test_a_token_that_does_not_count_is_told() -> None:
    assert look(ALIVE, ALIVE, problem(401, "token-expired"))["sign-in"] is Verdict.FAILED
    assert look(ALIVE, ALIVE, CAMERAS, token=None)["sign-in"] is Verdict.WARNING


@pytest.mark.parametrize(
    ("url", "is_told"),
    [
        ("http://127.0.0.1:8080", False),
        ("http://localhost", False),
        ("http://[::1]", False),
        ("https://control.example", False),
        ("http://control.example", True),
        ("http://10.0.0.7:8080", True),
    ],
)
def test_tokens_in_the_clear_are_told(url: str, is_told: bool) -> None:
    assert bool(network.exposure(url)) is is_told
