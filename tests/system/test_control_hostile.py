"""Values that databases stumble over, in every field of every message, against a real process on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from streamward.control.keys import load_keyring
from streamward.control.tokens import TokenMint
from streamward.model.identity import Role
from streamward.model.ids import Incarnation, RunnerId
from streamward.runtime.clock import SystemClock
from tests.support import hostile
from tests.support.app import ControlUnderTest
from tests.support.fuzzing import a_fuzzer
from tests.support.hostile import Attempt
from tests.support.postgres import PostgresServer
from tests.support.processes import ControlProcess, control

APP = ControlUnderTest().app
STORED = [*hostile.STRANGE_TEXTS[:3], *hostile.STRANGE_TEXTS[4:6], hostile.DIGITS, str(2**63 - 1), "1e308"]


@pytest.fixture
def process(tmp_path: Path, postgres: PostgresServer, database: str) -> Iterator[ControlProcess]:
    with control(tmp_path / "data", DATABASE_URL=postgres.url(database)) as process:
        yield process


def test_no_value_in_any_field_is_a_fault_of_ours_on_postgresql(process: ControlProcess) -> None:
    mint = TokenMint(load_keyring(process.data / "keys" / "signing.pem"), clock=SystemClock())
    with httpx.Client(timeout=60) as client:
        names = a_fuzzer(process, client).settle("w1")
        admin = mint.person("root", role=Role.ADMIN)
        runner = mint.runner(RunnerId(names.runner_id), incarnation=Incarnation("w1-1"), tenant_id=None)
        found: list[str] = []
        for path, method in hostile.routes(APP):
            token = runner if hostile.wants_runner(APP, path, method) else admin
            attempts = [
                *(
                    each
                    for each in hostile.attempts(APP, path, method, names)
                    if each.body is None and not each.headers
                ),
                *hostile.messages(APP, path, method, names, values=STORED),
            ]
            for attempt in attempts if method != "DELETE" else ():
                found += faults(client, process, attempt, token)
        lines = [each for column in ("username", "labels", "rtsp_url") for each in hostile.lines([column])]
        for content, kind in lines:
            body = content.encode("utf-8", errors="surrogatepass")
            attempt = Attempt(method="POST", target="/v1/cameras/import", body=body, headers={"Content-Type": kind})
            found += faults(client, process, attempt, admin)
    assert not found, "\n".join(found)


def faults(client: httpx.Client, process: ControlProcess, attempt: Attempt, token: str) -> list[str]:
    headers = {"Authorization": f"Bearer {token}"} | attempt.headers
    answer = client.request(attempt.method, f"{process.url}{attempt.target}", content=attempt.body, headers=headers)
    return [f"{answer.status_code} {answer.text[:200]}: {attempt}"] if answer.status_code >= 500 else []
