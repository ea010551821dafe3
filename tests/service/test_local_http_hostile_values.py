"""Numbers without end, NaN, NUL and endless nesting, in every place of every route of the servers on loopback."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from itertools import product
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import pytest

from streamward.batcher.api import BatcherApi
from streamward.batcher.metrics import BatcherMetrics
from streamward.model.secret import Secret
from streamward.nvr.control import ControlApi
from streamward.runner.manager_api import RunnerApi
from streamward.runner.metrics import WorkerMetrics
from streamward.runner.recent import Recent
from streamward.runner.worker_api import WorkerApi
from streamward.runtime.local_http import HOST, LARGEST_BODY, LARGEST_HEAD, LocalApi
from streamward.vision.ring import Ring
from tests.support import hostile
from tests.support.managers import a_host
from tests.support.recorders import a_recorder

SECRET = Secret("s3cret")
NAMES = ["camera", "seconds", "boxes", "frame", "since", "kind", "loop", "unknown"]  # in queries
WORDS = [word[: LARGEST_HEAD // 2] for word in hostile.WORDS]
BODIES = [body for body in hostile.BODIES if len(body) < LARGEST_BODY]


@contextlib.asynccontextmanager
async def a_worker() -> AsyncIterator[list[LocalApi]]:
    worker: Any = SimpleNamespace(is_alive=True, is_ready=True, metrics=WorkerMetrics(runner_id="r1", shard_id="s0"))
    ending: Any = SimpleNamespace(drain=lambda: None, stop=lambda: None, is_wanted=False)
    cutter: Any = SimpleNamespace()
    recent = Recent(lambda: Ring(seconds=30, most_bytes=1 << 20), cutter)
    yield [WorkerApi(worker, ending, recent, secret=SECRET)._api]


@contextlib.asynccontextmanager
async def a_runner() -> AsyncIterator[list[LocalApi]]:
    async with a_host() as host:
        api = RunnerApi(host.manager, "r1", secret=SECRET)
        yield [api._own, api._workers]


@contextlib.asynccontextmanager
async def a_batcher() -> AsyncIterator[list[LocalApi]]:
    batcher: Any = SimpleNamespace(
        in_hand=[], valve=SimpleNamespace(level=None), relay=SimpleNamespace(is_held=False), is_ready=True, bodies={}
    )
    yield [BatcherApi(batcher, BatcherMetrics())._api]


@contextlib.asynccontextmanager
async def a_simulated_nvr() -> AsyncIterator[list[LocalApi]]:
    async with a_recorder() as nvr:
        yield [ControlApi(nvr)._http]


Server = Callable[[], contextlib.AbstractAsyncContextManager[list[LocalApi]]]


async def status(port: int, request: bytes) -> int:
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    assert answer, f"no answer to {request[:200]!r}"
    return int(answer.split(b" ")[1])


def requests(method: str, path: str, *, secret: str) -> list[bytes]:
    head = f"HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {secret}\r\n"
    queries = [urlencode({name: word}, errors="surrogatepass") for name in NAMES for word in WORDS]
    bodies = [each.encode("utf-8", errors="surrogatepass") for each in BODIES]
    return [
        *(f"{method} {path}?{query} {head}\r\n".encode() for query in queries),
        *(f"{method} {path} {head}Content-Length: {len(body)}\r\n\r\n".encode() + body for body in bodies),
    ]


@pytest.mark.parametrize("server", [a_worker, a_runner, a_batcher, a_simulated_nvr])
async def test_no_value_in_any_place_of_a_route_is_a_fault_of_ours(server: Server) -> None:
    async with server() as apis:
        for api in apis:
            port = await api.start()
            known = product(api.routes, ("", SECRET.reveal()))
            sent = [each for (method, path), secret in known for each in requests(method, path, secret=secret)]
            answers = [await status(port, request) for request in sent]
            assert max(answers) < 500, sent[answers.index(max(answers))][:300]
            await api.stop()
