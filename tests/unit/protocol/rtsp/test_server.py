"""A server's side of a connection, and both sides wired to each other."""

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.secret import Secret
from streamward.model.source_url import Credential, parse
from streamward.model.stream_error import StreamErrorCode
from streamward.model.video import VideoCodec
from streamward.protocol.rtsp.authentication import Algorithm, Guard
from streamward.protocol.rtsp.client import ClientSpec, Described, Ended, Failed, Playing, RtspClient, Send
from streamward.protocol.rtsp.framing import Channels, Interleaved, interleave
from streamward.protocol.rtsp.message import Headers, Reply, Request
from streamward.protocol.rtsp.sdp import Description, Track
from streamward.protocol.rtsp.server import (
    Answered,
    Effect,
    RtspServer,
    ServerSpec,
    ServerState,
    SetUp,
    Started,
    Stopped,
    Unreadable,
)

USER = Credential(user=Secret("admin"), password=Secret("right"))
TRACK = Track(media="video", payload_type=96, encoding="H264", codec=VideoCodec.H264, control="track0")
URL = "rtsp://nvr/cam-1"


@dataclass
class FixedPolicy:
    """One camera; a script of faults."""

    protection: Guard | None = None
    room: int = 1
    faults: list[Reply | None] = field(default_factory=list)

    def intervene(self, request: Request) -> Reply | None:
        return self.faults.pop(0) if self.faults else None

    def guard(self, uri: str) -> Guard | None:
        return self.protection

    def describe(self, uri: str) -> Description | None:
        return Description(tracks=(TRACK,), control="*") if uri.startswith(URL) else None

    def admit(self, uri: str) -> bool:
        return self.room > 0


def a_server(policy: FixedPolicy | None = None) -> RtspServer:
    return RtspServer(ServerSpec(policy=policy or FixedPolicy(), session_id="sid", timeout=30))


def ask(server: RtspServer, method: str, uri: str = URL, *fields: tuple[str, str]) -> list[Effect]:
    request = Request(method=method, uri=uri, headers=Headers((("CSeq", "9"), *fields)))
    return server.receive(request.encode(), 0.0)


def status(effects: list[Effect]) -> int:
    assert isinstance(effects[0], Answered)
    assert effects[0].reply.headers.get("CSeq") == "9"
    return effects[0].reply.status


TCP = ("Transport", "RTP/AVP/TCP;unicast;interleaved=6-7")
SID = ("Session", "sid")


def test_a_session_from_first_to_last():
    server = a_server()
    assert "PLAY" in str(ask(server, "OPTIONS"))
    assert server.next_deadline() == math.inf
    assert status(ask(server, "DESCRIBE")) == 200
    assert ask(server, "SETUP", URL + "/track0", TCP)[1:] == [SetUp(URL + "/track0", "sid")]
    assert ask(server, "PLAY", URL, SID)[1:] == [Started(URL + "/track0", Channels(6, 7))]
    assert len(ask(server, "PLAY", URL, SID)) == 1
    assert status(ask(server, "GET_PARAMETER", URL, SID)) == 200
    assert ask(server, "TEARDOWN", URL, SID)[1:] == [Stopped(URL + "/track0", "sid")]
    assert server.state is ServerState.CLOSED


@pytest.mark.parametrize(
    ("method", "uri", "fields", "code"),
    [
        ("DESCRIBE", "rtsp://nvr/none", (), 404),
        ("SETUP", "rtsp://nvr/none", (TCP,), 404),
        ("SETUP", URL, (("Transport", "RTP/AVP;unicast;client_port=1-2"),), 461),
        ("SETUP", URL, (("Transport", "RTP/AVP/TCP;interleaved=998-999"),), 461),
        ("PLAY", URL, (), 454),
        ("PLAY", URL, (SID,), 454),
        ("GET_PARAMETER", URL, (("Session", "other"),), 454),
        ("RECORD", URL, (), 501),
    ],
)
def test_requests_that_cannot_be_granted(method, uri, fields, code):
    assert status(ask(a_server(), method, uri, *fields)) == code


def test_a_connection_has_one_session():
    server = a_server()
    ask(server, "SETUP", URL, TCP)
    assert status(ask(server, "SETUP", URL, TCP)) == 455


def test_a_full_server_says_so():
    assert status(ask(a_server(FixedPolicy(room=0)), "SETUP", URL, TCP)) == 453


def test_the_policy_may_answer_in_its_place():
    server = a_server(FixedPolicy(faults=[Reply(status=302, headers=Headers((("Location", "rtsp://x"),)))]))
    assert status(ask(server, "OPTIONS")) == 302
    assert status(ask(server, "OPTIONS")) == 200


def test_a_silent_client_loses_its_session():
    server = a_server()
    ask(server, "SETUP", URL, TCP)
    assert server.due(29.9) == []
    (packet,) = server.receive(interleave(7, b"report"), 10.0)
    assert isinstance(packet, Interleaved)
    assert server.due(39.9) == []
    assert server.due(40.0) == [Stopped(URL, "sid", is_timed_out=True)]
    assert server.due(99.0) == []


def test_a_client_that_speaks_no_rtsp_is_told_of():
    (effect,) = a_server().receive(b"GET / HTTP/1.1\r\n\r\n", 0.0)
    assert isinstance(effect, Unreadable)


def test_requests_without_a_number_are_answered_without_one():
    (effect, *_) = a_server().receive(b"OPTIONS * RTSP/1.0\r\n\r\nRTSP/1.0 200 OK\r\n\r\n", 0.0)
    assert isinstance(effect, Answered)
    assert effect.reply.headers.get("CSeq") is None


def pieces(content: bytes, size: int) -> list[bytes]:
    return [content[start : start + size] for start in range(0, len(content), size)]


def wired(policy: FixedPolicy, credential: Credential | None = USER, *, cut: int = 10_000) -> list[object]:
    """What a client tells of a session with a server, all bytes cut into pieces."""
    server = a_server(policy)
    client = RtspClient(ClientSpec(url=parse(URL).url, seed="s", credential=credential))
    told: list[object] = []
    effects = list(client.start(0.0))
    while effects:
        effect = effects.pop(0)
        if not isinstance(effect, Send):
            told.append(effect)
            effects += client.teardown(0.0) if isinstance(effect, Playing) else []
            continue
        answers = [answer for piece in pieces(effect.content, cut) for answer in server.receive(piece, 0.0)]
        replies = b"".join(answer.reply.encode() for answer in answers if isinstance(answer, Answered))
        effects += [each for piece in pieces(replies, cut) for each in client.receive(piece, 0.0)]
    return told


@given(st.sampled_from(Algorithm), st.booleans(), st.integers(1, 500))
def test_both_ends_understand_each_other(algorithm, has_qop, cut):
    guard = Guard(USER, "n", algorithms=(algorithm,), has_qop=has_qop)
    told = wired(FixedPolicy(protection=guard), cut=cut)
    assert told == [Described(TRACK), Playing(Channels(0, 1), 30.0), Ended()]


def test_a_wrong_password_is_refused_once():
    wrong = Credential(user=Secret("admin"), password=Secret("wrong"))
    (failed,) = wired(FixedPolicy(protection=Guard(USER, "n")), wrong)
    assert isinstance(failed, Failed)
    assert (failed.code, failed.is_login_refused) == (StreamErrorCode.RTSP_AUTH_FAILED, True)


def test_a_nonce_that_changes_under_way_stops_nobody():
    guard = Guard(USER, "n")

    @dataclass
    class Restless(FixedPolicy):
        def intervene(self, request: Request) -> Reply | None:
            if request.method == "SETUP" and guard.nonce == "n":
                guard.renew("m")
            return None

    assert wired(Restless(protection=guard))[-1] == Ended()
