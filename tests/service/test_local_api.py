"""A Worker's HTTP on loopback."""

import asyncio

import pytest

from streamward.model.secret import Secret
from streamward.runner.local_api import LARGEST_HEAD, LocalApi, Reply, Route

SECRET = Secret("s3cret")
ROUTES = {
    ("GET", "/healthz"): Route(lambda: Reply(200, b"{}")),
    ("POST", "/drain"): Route(lambda: Reply(202), is_guarded=True),
}


async def ask(request: bytes, *, secret: Secret | None = SECRET) -> bytes:
    api = LocalApi(ROUTES, secret=secret)
    port = await api.start()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    await api.stop()
    return answer


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /healthz HTTP/1.1", 200),
        ("GET /healthz?x=1 HTTP/1.1", 200),
        ("POST /healthz HTTP/1.1", 405),
        ("GET /nowhere HTTP/1.1", 404),
        ("nonsense", 400),
        ("POST /drain HTTP/1.1", 401),
        ("POST /drain HTTP/1.1\r\nAuthorization: Bearer wrong", 401),
        ("POST /drain HTTP/1.1\r\nauthorization:  Bearer s3cret", 202),
    ],
)
async def test_each_request_gets_its_answer(request_line: str, status: int):
    answer = await ask(f"{request_line}\r\nHost: x\r\n\r\n".encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close" in answer


async def test_without_a_secret_nothing_can_be_changed():
    answer = await ask(b"POST /drain HTTP/1.1\r\nAuthorization: Bearer \r\n\r\n", secret=None)
    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("request_", [b"", b"GET /healthz", b"x" * (LARGEST_HEAD + 10)])
async def test_what_is_no_request_is_refused(request_: bytes):
    assert (await ask(request_)).startswith(b"HTTP/1.1 400 ")
