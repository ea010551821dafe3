"""Schemathesis against real control processes; `scripts/fuzz_api.py` does the same for as long as one likes."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.fuzzing import a_fuzzer, brief
from tests.support.operations import OPERATIONS
from tests.support.postgres import PostgresServer
from tests.support.processes import ControlProcess, control


@pytest.fixture
def process(tmp_path: Path, postgres: PostgresServer, database: str) -> Iterator[ControlProcess]:
    with control(tmp_path / "data", DATABASE_URL=postgres.url(database)) as process:
        yield process


def test_a_real_process_answers_whatever_is_sent_as_its_document_says(process: ControlProcess) -> None:
    with httpx.Client(timeout=60) as client:
        fuzzer = a_fuzzer(process, client)
        for path, method in OPERATIONS:
            fuzzer.run(f"{method.upper()} {path}", settings=brief(examples=4), with_edges=False)
    people = {f"{role}{mark}" for role in ("viewer", "operator", "admin") for mark in ("", "*")}
    assert set(fuzzer.calls) == people | {"none", "runner", "runner*"}
