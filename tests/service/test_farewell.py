"""How a parent gives the leases of its dead Manager back, over HTTP."""

import contextlib
import json
import logging
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from streamward.model.secret import Secret
from streamward.protocol.codec import encode
from streamward.protocol.fields import ClearText
from streamward.protocol.ticket import ReleaseTicket
from streamward.runner import farewell
from tests.support.answering import serving
from tests.support.ports import free_port

GOOD = (200, {"released": ["cam-1", "cam-2"]})
BUSY = (503, {"title": "Busy", "status": 503, "detail": "later", "reason": "busy"})
REVOKED = (401, {"title": "Unauthorized", "status": 401, "detail": "no more", "reason": "token-revoked"})
Answer = tuple[int, object]


class Desk:
    """Answers in turn, and keeps what it was asked."""

    def __init__(self, answers: list[Answer]) -> None:
        self.answers = answers
        self.asked: list[tuple[str, str | None, object]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()


@contextlib.contextmanager
def desk(*answers: Answer) -> Iterator[tuple[Desk, bytes]]:
    known = Desk(list(answers))

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known.asked.append((self.path, self.headers["Authorization"], body))
            status, said = known.answers.pop(0)
            known.may_answer.wait(timeout=60)
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with serving(HTTPServer(("127.0.0.1", 0), Answering)) as port:
        yield known, ticket(f"http://127.0.0.1:{port}/below/")


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def ticket(url: str, *, ttl: float = 60.0) -> bytes:
    token = ClearText(Secret("canary"))
    return encode(ReleaseTicket(url=url, token=token, runner_id="r1", incarnation="inc-1", ttl_s=ttl))


def lines(capsys: pytest.CaptureFixture[str]) -> list[tuple[str, object]]:
    said = capsys.readouterr().err
    assert "canary" not in said
    told = [json.loads(line) for line in said.splitlines()]
    return [(line["event"], line.get("released", line.get("reason"))) for line in told]


def test_everything_is_given_back_with_the_tickets_own_token(capsys):
    with desk(GOOD) as (known, paper):
        farewell.release(paper)
    body = {"runner_id": "r1", "incarnation": "inc-1"}
    assert known.asked == [("/below/v1/runners/release-all", "Bearer canary", body)]
    assert lines(capsys) == [("leases.given.back", 2)]


def test_a_control_plane_that_is_busy_is_asked_again(capsys):
    with desk(BUSY, GOOD) as (known, paper):
        farewell.release(paper)
    assert len(known.asked) == 2
    assert lines(capsys) == [("leases.given.back", 2)]


@pytest.mark.parametrize(
    ("answer", "reason"), [(REVOKED, "token-revoked"), ((404, "a page"), "an answer of status 404")]
)
def test_a_refusal_is_not_tried_again(capsys, answer: Answer, reason: str) -> None:
    with desk(answer) as (known, paper):
        farewell.release(paper)
    assert len(known.asked) == 1
    assert lines(capsys) == [("leases.left", reason)]


def test_a_control_plane_that_is_away_lets_the_leases_run_out(capsys):
    farewell.release(ticket(f"http://127.0.0.1:{free_port()}", ttl=0.6))
    assert lines(capsys) == [("leases.left", "ConnectionRefusedError")]


def test_a_ticket_that_is_none_is_told_and_not_repeated(capsys):
    farewell.release(b'{"url": "canary"}')
    assert lines(capsys) == [("leases.left", "the ticket cannot be read")]


def test_an_answer_that_takes_seconds_is_waited_for(capsys):
    with desk(GOOD) as (known, paper):
        known.may_answer.clear()
        later = threading.Timer(4.0, known.may_answer.set)
        later.start()
        farewell.release(paper)
        later.join()
    assert len(known.asked) == 1
    assert lines(capsys) == [("leases.given.back", 2)]
