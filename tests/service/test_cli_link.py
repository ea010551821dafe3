"""The commands' side of a call: whatever answers, the person reads one sentence and the script one exit code."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamward import __version__
from streamward.cli import refusal
from streamward.cli.bearer import bearer
from streamward.cli.failure import CommandFailed, ExitCode
from streamward.cli.link import File, Link, place, trust
from streamward.protocol.cameras import CameraPage, CameraRemoved
from streamward.protocol.codec import encode
from streamward.protocol.problem import MEDIA_TYPE, LineFault, Problem
from streamward.settings import Settings
from tests.support.answering import Canned, answering

HTML = Canned(status=502, body=b"<html>Bad Gateway</html>", kind="text/html; charset=utf-8")
REMOVED = encode(CameraRemoved(camera_uuid="c1"))


def refused(status: int, reason: str, detail: str = "so it is", **headers: str) -> Canned:
    body = encode(Problem(title="No", status=status, detail=detail, reason=reason))
    return Canned(status=status, body=body, kind=MEDIA_TYPE, headers=headers)


def failure(*answers: Canned) -> CommandFailed:
    with answering(*answers) as stranger, pytest.raises(CommandFailed) as failed:
        Link(stranger.url, bearer=lambda: "t").get("/v1/thing", CameraRemoved)
    return failed.value


@contextlib.contextmanager
def greeting(words: bytes) -> Iterator[str]:
    """A server of another protocol, which speaks first."""

    def speak() -> None:
        caller, _ = listener.accept()
        with caller:
            caller.sendall(words)
            caller.recv(65_536)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=speak)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (HTML, ExitCode.AWAY, "is not a control plane of Streamward (status 502, text/html)"),
        (Canned(status=302, headers={"Location": "http://elsewhere"}), ExitCode.AWAY, "status 302"),
        (Canned(body=b"<html>", kind="text/html"), ExitCode.AWAY, "status 200, text/html"),
        (Canned(status=400, body=b"{", kind=MEDIA_TYPE), ExitCode.AWAY, "is not a control plane"),
        (Canned(headers={"Streamward-Version": "9.9.9"}), ExitCode.REFUSED, "version 9.9.9"),
        (refused(401, "token-expired"), ExitCode.NOT_ALLOWED, "the token has expired: sign in"),
        (refused(401, "token-invalid"), ExitCode.NOT_ALLOWED, "does not accept the token"),
        (refused(401, "token-not-yet-valid"), ExitCode.NOT_ALLOWED, "set the clocks"),
        (refused(403, "wrong-role", "this needs an operator's token"), ExitCode.NOT_ALLOWED, "an operator's token"),
        (refused(403, "wrong-role", "this needs an admin's token"), ExitCode.NOT_ALLOWED, "token --admin NAME"),
        (refused(403, "code-refused", "ask for a new one"), ExitCode.NOT_ALLOWED, "ask for a new one"),
        (refused(401, "clock-skew", "let NTP set both"), ExitCode.NOT_ALLOWED, "let NTP set both"),
        (refused(404, "camera-unknown"), ExitCode.NOT_FOUND, "`streamward cameras list`"),
        (refused(404, "not-found"), ExitCode.REFUSED, "install the same version"),
        (refused(412, "changed-meanwhile"), ExitCode.REFUSED, "somebody else changed it meanwhile"),
        (refused(422, "invalid-message", "no such day"), ExitCode.REFUSED, "no such day"),
        (refused(500, "internal", **{"X-Request-Id": "abc"}), ExitCode.REFUSED, "its log says more (request abc)"),
    ],
)
def test_every_answer_that_is_none_is_one_sentence(answer: Canned, code: ExitCode, said: str) -> None:
    failed = failure(answer)
    assert failed.exit_code is code
    assert said in str(failed)
    assert "\n" not in str(failed)


def test_a_database_away_says_when_to_try_again() -> None:
    body = encode(Problem(title="No", status=503, detail="gone", reason="store-unavailable", retry_in_ms=1000))
    assert str(failure(Canned(status=503, body=body, kind=MEDIA_TYPE))) == "gone: try again in 1 s"


def test_nobody_there_is_told_with_the_remedy() -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
    with pytest.raises(refusal.ControlAway) as away:
        Link(url, bearer=lambda: "t").get("/v1/thing", CameraRemoved)
    assert str(away.value) == (
        f"no control plane answers at {url} (connection refused): start one with `streamward control`, "
        "or set STREAMWARD_CONTROL_URL to where it runs"
    )


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 80])
def test_a_name_that_is_none_is_as_away(host: str) -> None:
    with pytest.raises(refusal.ControlAway):
        Link(f"http://{host}:1", bearer=lambda: "t").ask("/healthz")


def test_what_speaks_no_http_is_not_streamward() -> None:
    with greeting(b"220 mail.example ESMTP\r\n") as url, pytest.raises(refusal.NotStreamward, match="no HTTP"):
        Link(url, bearer=lambda: "t").ask("/healthz")


def test_a_listing_is_followed_to_its_last_page() -> None:
    pages = [Canned(body=encode(CameraPage(items=[], next_cursor=cursor))) for cursor in ("a", "b&c", None)]
    with answering(*pages) as stranger:
        found = list(Link(stranger.url, bearer=lambda: "t").pages("/v1/cameras", CameraPage, {"enabled": True}))
    assert len(found) == 3
    assert [path for _, path, _ in stranger.asked] == [
        "/v1/cameras?enabled=true",
        "/v1/cameras?enabled=true&cursor=a",
        "/v1/cameras?enabled=true&cursor=b%26c",
    ]


def test_a_listing_that_does_not_end_is_left() -> None:
    again = Canned(body=encode(CameraPage(items=[], next_cursor="a")))
    with answering(again) as stranger, pytest.raises(refusal.NotStreamward, match="does not end"):
        list(Link(stranger.url, bearer=lambda: "t").pages("/v1/cameras", CameraPage))


def test_a_change_carries_the_state_that_it_means() -> None:
    with answering(Canned(body=REMOVED, headers={"ETag": '"8"'})) as stranger:
        answer = Link(stranger.url, bearer=lambda: "t").patch("/v1/x", {}, CameraRemoved, etag='"7"')
    ((method, _, headers),) = stranger.asked
    assert (method, headers["if-match"], headers["authorization"]) == ("PATCH", '"7"', "Bearer t")
    assert answer.etag == '"8"'


def test_another_version_is_warned_of_once() -> None:
    warnings: list[str] = []
    with answering(Canned(body=REMOVED, headers={"Streamward-Version": "9.9.9"})) as stranger:
        link = Link(stranger.url, bearer=lambda: "t", warn=warnings.append)
        for _ in range(2):
            link.get("/v1/x", CameraRemoved)
    assert len(warnings) == 1
    assert "9.9.9" in warnings[0]


def test_the_same_version_is_not() -> None:
    warnings: list[str] = []
    with answering(Canned(body=REMOVED, headers={"Streamward-Version": f"{__version__}.post1"})) as stranger:
        Link(stranger.url, bearer=lambda: "t", warn=warnings.append).get("/v1/x", CameraRemoved)
    assert warnings == []


def test_an_id_stays_one_part_of_a_path() -> None:
    assert place("v1", "cameras", "a/../b?c#d") == "/v1/cameras/a%2F..%2Fb%3Fc%23d"


def test_a_plain_server_behind_https_is_told_as_that() -> None:
    system = trust(ca=None, certificate=None, key=None)
    with answering(Canned()) as stranger:
        link = Link(stranger.url.replace("http:", "https:"), bearer=lambda: "t", tls=system)
        with pytest.raises(refusal.TlsRefused, match="see that it speaks https"):
            link.ask("/healthz")


def test_certificates_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    missing, empty = tmp_path / "ca.pem", tmp_path / "empty.pem"
    empty.write_text("")
    for ca in (missing, empty):
        with pytest.raises(refusal.CertificateUnusable, match=ca.name):
            trust(ca=ca, certificate=None, key=None)


OPENLY = Link("http://127.0.0.1:1", bearer=str)


def test_without_any_token_the_remedy_is_told(tmp_path: Path) -> None:
    with pytest.raises(refusal.NotSignedIn, match="streamward login"):
        bearer(Settings(data=tmp_path, identity=tmp_path / "none"), OPENLY)


@pytest.mark.parametrize("token", ["a b", "hunter2\nX: y", "größe"])
def test_a_token_that_cannot_be_sent_is_not_repeated(tmp_path: Path, token: str) -> None:
    with pytest.raises(refusal.NotSignedIn) as refused:
        bearer(Settings.model_validate({"data": tmp_path, "token": token}), OPENLY)
    assert token not in str(refused.value)


def test_a_file_is_sent_as_what_it_is_and_its_faults_come_back() -> None:
    fault = LineFault(line=2, camera_uuid=None, detail="there is no such site", reason="site-unknown")
    body = encode(Problem(title="No", status=422, detail="nothing", reason="import-refused", lines=[fault]))
    file = File("text/csv", b"hunter2")
    with (
        answering(Canned(status=422, body=body, kind=MEDIA_TYPE)) as stranger,
        pytest.raises(refusal.LinesRefused) as failed,
    ):
        Link(stranger.url, bearer=lambda: "t").send("/v1/cameras/import", file, CameraRemoved, {"dry_run": True})
    assert failed.value.problem.lines == [fault]
    [(method, path, headers)] = stranger.asked
    assert (method, path, headers["content-type"]) == ("POST", "/v1/cameras/import?dry_run=true", "text/csv")
    assert "hunter2" not in repr(file)


def test_a_file_comes_in_parts_and_one_that_is_cut_short_is_told() -> None:
    whole = Canned(body=b"x" * 100_000, kind="text/csv")
    short = Canned(body=b"x" * 10, kind="text/csv", headers={"Content-Length": "11"})
    chunked = Canned(body=b"5\r\nhello\r\n", kind="text/csv", headers={"Transfer-Encoding": "chunked"})
    with answering(whole, short, chunked, refused(403, "wrong-role")) as stranger:
        link = Link(stranger.url, bearer=lambda: "t")
        assert b"".join(link.download("/v1/cameras/export")) == whole.body
        for expected in (refusal.CutShort, refusal.CutShort, refusal.NotAllowed):
            with pytest.raises(expected):
                list(link.download("/v1/cameras/export"))
