"""A server that answers as it is told: what a control plane, a proxy or a stranger could say to a command."""

import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Canned:
    """One answer."""

    status: int = 200
    body: bytes = b"{}"
    kind: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)  # a `Date` in it counts instead of the server's own


@dataclass(slots=True)
class Stranger:
    """Where it listens, and what it was asked."""

    url: str
    asked: list[tuple[str, str, dict[str, str]]]


@contextlib.contextmanager
def answering(*answers: Canned, tls: ssl.SSLContext | None = None) -> Iterator[Stranger]:
    """Gives the answers in turn, the last one again and again."""
    asked: list[tuple[str, str, dict[str, str]]] = []

    class Listener(BaseHTTPRequestHandler):
        def answer(self) -> None:
            answer = answers[min(len(asked), len(answers) - 1)]
            asked.append((self.command, self.path, {name.lower(): value for name, value in self.headers.items()}))
            self.rfile.read(int(self.headers.get("content-length", "0")))
            self.send_response_only(answer.status)
            told = {
                "Content-Type": answer.kind,
                "Content-Length": str(len(answer.body)),
                "Date": self.date_time_string(),
                **answer.headers,
            }
            for name, value in told.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = do_PATCH = do_DELETE = answer  # noqa: N815 - the library's names

        def log_message(self, *_args: Any) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listener)
    server.daemon_threads = False
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    with serving(server) as port:
        scheme = "http" if tls is None else "https"
        yield Stranger(f"{scheme}://127.0.0.1:{port}", asked)


@contextlib.contextmanager
def serving(server: HTTPServer) -> Iterator[int]:
    """Serves on a thread of its own; the port."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
