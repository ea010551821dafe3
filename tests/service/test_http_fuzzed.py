"""Schemathesis against the application on memory: every operation, as every role and as none.

The same cases each time; `make drills` tries others, many more, against real processes.
"""

import asyncio
from collections.abc import Iterator

import httpx
import pytest

from tests.support.app import ControlUnderTest
from tests.support.fuzzing import Fuzzer, brief
from tests.support.operations import DOCUMENT, OPERATIONS


class Loop:
    """The application, and the loop that the test at hand runs it in."""

    def __init__(self) -> None:
        self.control = ControlUnderTest()
        self.runner: asyncio.Runner | None = None

    def send(self, request: httpx.Request) -> httpx.Response:
        assert self.runner is not None
        return self.runner.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.control.app)) as client:
            return await client.send(request)


LOOP = Loop()


@pytest.fixture(scope="module")
def one_fuzzer() -> Fuzzer:
    return Fuzzer(DOCUMENT, LOOP.send, mint=LOOP.control.mint)


@pytest.fixture
def fuzzer(one_fuzzer: Fuzzer) -> Iterator[Fuzzer]:
    with asyncio.Runner() as LOOP.runner:
        yield one_fuzzer


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_whatever_is_sent_is_answered_as_the_document_says(fuzzer: Fuzzer, path: str, method: str) -> None:
    fuzzer.run(f"{method.upper()} {path}", settings=brief(examples=3))
