"""HTTP on loopback."""

import asyncio
import json

import pytest

from streamward.model.secret import Secret
from streamward.runtime.local_http import HOST, LARGEST_BODY, LARGEST_HEAD, Asked, LocalApi, Reply, Route

SECRET = Secret("s3cret")


async def healthy(_asked: Asked) -> Reply:
    return Reply(200, b"{}")


async def draining(_asked: Asked) -> Reply:
    return Reply(202)


async def echo(asked: Asked) -> Reply:
    return Reply(200, json.dumps(dict(asked.query)).encode() + asked.body, kind="text/plain")


ROUTES = {
    ("GET", "/healthz"): Route(healthy),
    ("POST", "/drain"): Route(draining, is_guarded=True),
    ("POST", "/echo"): Route(echo),
}


async def ask(request: bytes, *, secret: Secret | None = SECRET) -> bytes:
    api = LocalApi(ROUTES, secret=secret)
    port = await api.start()
    reader, writer = await asyncio.open_connection(HOST, port)
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
        ("POST /drain HTTP/1.1\r\nAuthorization: Bearer s3cret\r\nOrigin: http://example.com", 403),
        ("GET /healthz HTTP/1.1\r\norigin: null", 403),
        (f"POST /echo HTTP/1.1\r\nContent-Length: {LARGEST_BODY + 1}", 413),
        (f"POST /echo HTTP/1.1\r\nContent-Length: {'9' * 5000}", 413),
        ("POST /echo HTTP/1.1\r\nContent-Length: -1", 400),
        ("POST /echo HTTP/1.1\r\nContent-Length: 5", 400),
    ],
)
async def test_each_request_gets_its_answer(request_line: str, status: int):
    answer = await ask(f"{request_line}\r\nHost: localhost\r\n\r\n".encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert b"Connection: close" in answer


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:9107", 200),
        ("127.0.0.1", 200),
        ("127.0.0.1:9107", 200),
        ("127.8.9.10:1", 200),
        ("[::1]", 200),
        ("[::1]:9107", 200),
        ("evil.example", 421),
        ("evil.example:9107", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("192.0.2.7:9107", 421),
        ("[2001:db8::1]:9107", 421),
        ("[::1]evil.example", 421),
        ("127.0.0.1:9107@evil.example", 421),
        ("", 421),
    ],
)
async def test_only_requests_to_a_loopback_name_are_served(host: str, status: int):
    answer = await ask(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    assert status == 200 or "loopback name" in json.loads(answer.partition(b"\r\n\r\n")[2])["error"]


async def test_a_route_gets_query_and_body():
    answer = await ask(b"POST /echo?a=1&b=%20 HTTP/1.1\r\nContent-Length: 4\r\n\r\nmore")
    assert answer.endswith(
        b'Content-Type: text/plain\r\nContent-Length: 24\r\nConnection: close\r\n\r\n{"a": "1", "b": " "}more'
    )


@pytest.mark.parametrize("secret", [None, Secret("")])
async def test_without_a_secret_nothing_can_be_changed(secret: Secret | None):
    answer = await ask(b"POST /drain HTTP/1.1\r\nAuthorization: Bearer \r\n\r\n", secret=secret)
    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize("request_", [b"", b"GET /healthz", b"x" * (LARGEST_HEAD + 10)])
async def test_what_is_no_request_is_refused_with_a_reason(request_: bytes):
    answer = await ask(request_)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]
