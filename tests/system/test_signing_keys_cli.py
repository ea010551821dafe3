"""Signing keys changed while a control plane serves: no good token is refused, and an old one not for long."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from streamward.control.keys import load_keyring
from streamward.control.tokens import TokenMint
from streamward.model.ids import RunnerId
from streamward.runtime.clock import SystemClock
from tests.support.processes import ControlProcess, control, run

PATIENCE = 60.0  # seconds; `make bench` and the drills tell how long things take


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def keys(data: Path, *args: str) -> dict[str, Any]:
    done = run("keys", *args, "--json", data=data)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def uses(answer: dict[str, Any]) -> list[str]:
    return [key["use"] for key in answer["keys"]]


def fresh(data: Path) -> str:
    """A token of the key that signs now."""
    mint = TokenMint(load_keyring(data / "keys" / "signing.pem"), clock=SystemClock())
    return mint.runner(RunnerId("r1"), lifetime=timedelta(hours=1))


@contextlib.contextmanager
def stream(process: ControlProcess, token: Callable[[], str]) -> Iterator[list[int]]:
    """Calls without a pause, each with the token of its moment; the statuses that came."""
    statuses: list[int] = []
    is_over = threading.Event()

    def call() -> None:
        with httpx.Client(base_url=process.url, timeout=60) as client:
            while not is_over.is_set():
                answer = client.get("/v1/cameras", headers={"Authorization": f"Bearer {token()}"})
                statuses.append(answer.status_code)

    with ThreadPoolExecutor(1) as pool:
        calling = pool.submit(call)
        try:
            yield statuses
            reached = len(statuses) + 20
            while len(statuses) < reached and not calling.done():
                continue
        finally:
            is_over.set()
            calling.result()


def is_refused_at_last(process: ControlProcess, token: str) -> bool:
    """Whether the token comes to be refused."""
    ends_at = time.monotonic() + PATIENCE
    with httpx.Client(base_url=process.url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as client:
        while time.monotonic() < ends_at:
            if client.get("/v1/cameras").status_code == 401:
                return True
    return False


@pytest.mark.parametrize("steps", [[[]], [["--stage"], ["--activate"]]], ids=["rotate", "stage-and-activate"])
def test_no_good_token_is_refused_while_keys_change(data: Path, steps: list[list[str]]) -> None:
    with control(data) as process:
        old = fresh(data)
        with stream(process, lambda: old) as of_old, stream(process, lambda: fresh(data)) as of_new:
            for step in steps:
                keys(data, "rotate-signing", *step)
        assert set(of_old) == set(of_new) == {200}
        first = load_keyring(data / "keys" / "signing.pem")
        between = fresh(data)
        dropped = keys(data, "rotate-signing")["dropped"]
        assert len(dropped) == 1
        assert first.find(dropped[0]) is not None
        assert is_refused_at_last(process, old)
        for token in (between, fresh(data)):
            headers = {"Authorization": f"Bearer {token}"}
            assert httpx.get(f"{process.url}/v1/cameras", headers=headers, timeout=60).is_success


def test_a_listing_goes_on_after_a_change_of_keys(data: Path) -> None:
    with control(data, "--demo") as process, process.client("--operator", "ada") as operator:
        first = operator.get("/v1/cameras", params={"limit": 5}).json()
        keys(data, "rotate-signing")
        with process.client("--operator", "ada") as renewed:
            assert renewed.get("/v1/cameras", params={"limit": 5, "cursor": first["next_cursor"]}).status_code == 200


def test_keys_are_listed_for_people_and_programs(data: Path) -> None:
    with control(data):
        assert uses(keys(data, "list")) == ["signs"]
        assert uses(keys(data, "rotate-signing")) == ["signs", "accepted"]
        assert uses(keys(data, "rotate-signing", "--stage")) == ["signs", "staged", "accepted"]
        listed = run("keys", "list", data=data).stdout.splitlines()
        assert listed[0].split() == ["kid", "use", "age"]
        assert listed[2].split()[1:] == ["staged", "0", "min"]
    assert "PRIVATE" not in "".join(listed)


def test_what_does_not_follow_is_one_sentence_and_changes_nothing(data: Path) -> None:
    with control(data):
        before = (data / "keys" / "signing.pem").read_bytes()
    refused = run("keys", "rotate-signing", "--activate", data=data)
    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1)
    assert "no key is staged" in refused.stderr
    assert run("keys", "rotate-signing", "--activate", "--stage", data=data).returncode == 2
    assert (data / "keys" / "signing.pem").read_bytes() == before
