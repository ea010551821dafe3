"""The ticket against a real control plane that wants certificates: what a dead Manager held is free at once."""

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from streamward.model.secret import Secret
from streamward.protocol.codec import encode
from streamward.protocol.fields import ClearText
from streamward.protocol.ticket import ReleaseTicket
from streamward.runner import farewell
from tests.support.certificates import Authority, Pair
from tests.support.processes import control


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def ticket(url: str, token: str, *, ca: Authority, own: Pair) -> bytes:
    return encode(
        ReleaseTicket(
            url=url,
            token=ClearText(Secret(token)),
            runner_id="r1",
            incarnation="inc-1",
            ttl_s=8.0,
            ca=str(ca.file),
            certificate=str(own.certificate),
            key=str(own.key),
        )
    )


def post(client: httpx.Client, path: str, **body: object) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def acquired(client: httpx.Client, runner_id: str) -> list[str]:
    post(client, "/v1/runners/register", runner_id=runner_id)
    leases = post(client, "/v1/leases/cameras/acquire", runner_id=runner_id, limit=1000)["leases"]
    return sorted(lease["camera_uuid"] for lease in leases)


def test_what_a_dead_manager_held_is_free_for_the_next(tmp_path: Path) -> None:
    ca = Authority(tmp_path)
    own = ca.issue("runner")
    settings = {"TLS_CLIENT_CA": ca.file, **ca.issue("server").settings()}
    with (
        control(tmp_path / "data", "--demo", trust=ca.trusting(own), **settings) as process,
        process.client("--runner", "r1", "--incarnation", "inc-1") as dead,
        process.client("--runner", "r2") as heir,
    ):
        held = acquired(dead, "r1")
        token = post(dead, "/v1/runners/release-token", runner_id="r1")["token"]
        assert acquired(heir, "r2") == []
        farewell.release(ticket(process.url, token, ca=ca, own=own))
        assert acquired(heir, "r2") == held != []
