"""A client's session, by the messages of its server."""

import math

import pytest

from streamward.model.secret import Secret
from streamward.model.source_url import Credential, parse
from streamward.model.stream_error import StreamErrorCode
from streamward.protocol.rtp import rtcp
from streamward.protocol.rtsp.client import (
    ANSWER_WITHIN,
    DEFAULT_TIMEOUT,
    ClientSpec,
    ClientState,
    Described,
    Effect,
    Ended,
    Failed,
    Playing,
    RtspClient,
    Send,
)
from streamward.protocol.rtsp.framing import Channels, Interleaved, Skipped, StreamDecoder, interleave
from streamward.protocol.rtsp.message import Headers, Reply, Request

USER = Credential(user=Secret("admin"), password=Secret("canary-7"))
SDP = b"v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 H264/90000\r\na=control:track1\r\n"
DIGEST = ("WWW-Authenticate", 'Digest realm="r", nonce="n1"')
STALE = ("WWW-Authenticate", 'Digest realm="r", nonce="n2", stale=true')
OFFERS = ("Public", "OPTIONS, DESCRIBE, GET_PARAMETER")
SESSION = ("Session", "42;timeout=20")


class Talk:
    """A client and what a server says to it; the last request is answered."""

    def __init__(self, credential: Credential | None = USER) -> None:
        self.client = RtspClient(ClientSpec(url=parse("rtsp://cam/live").url, seed="s", credential=credential))
        self.now = 0.0
        self.asked: list[Request] = []
        self._hear(self.client.start(self.now))

    def answer(self, status: int = 200, *fields: tuple[str, str], body: bytes = b"") -> list[Effect]:
        cseq = self.asked[-1].headers.get("CSeq") or ""
        reply = Reply(status=status, reason="?", headers=Headers((("CSeq", cseq), *fields)), body=body)
        return self.say(reply.encode())

    def say(self, content: bytes) -> list[Effect]:
        return self._hear(self.client.receive(content, self.now))

    def wait(self) -> list[Effect]:
        self.now = self.client.next_deadline()
        return self._hear(self.client.due(self.now))

    def leave(self) -> list[Effect]:
        return self._hear(self.client.teardown(self.now))

    def play(self, *offers: tuple[str, str]) -> list[Effect]:
        """Up to the point where packets come."""
        self.answer(200, *offers)
        self.answer(200, body=SDP)
        self.answer(200, SESSION, ("Transport", "RTP/AVP/TCP;interleaved=2-3"))
        return self.answer()

    def _hear(self, effects: list[Effect]) -> list[Effect]:
        for effect in effects:
            if isinstance(effect, Send):
                self.asked += [unit for unit in StreamDecoder().feed(effect.content) if isinstance(unit, Request)]
        return [effect for effect in effects if not isinstance(effect, Send)]


def methods(talk: Talk) -> list[str]:
    return [request.method for request in talk.asked]


def test_a_session_is_played():
    talk = Talk()
    assert talk.answer(200, OFFERS) == []
    (described,) = talk.answer(200, ("Content-Base", "rtsp://10.0.0.1/live/"), body=SDP)
    assert isinstance(described, Described)
    assert talk.answer(200, SESSION, ("Transport", "RTP/AVP/TCP;unicast;interleaved=4-5")) == []
    assert talk.answer() == [Playing(Channels(4, 5), 20.0)]
    assert [(request.method, request.uri) for request in talk.asked] == [
        ("OPTIONS", "rtsp://cam/live"),
        ("DESCRIBE", "rtsp://cam/live"),
        ("SETUP", "rtsp://cam/live/track1"),
        ("PLAY", "rtsp://cam/live/"),
    ]
    assert talk.asked[-1].headers.get("Session") == "42"
    assert talk.client.state is ClientState.PLAYING


def test_packets_are_handed_on_from_play_on():
    talk = Talk()
    assert talk.say(interleave(0, b"early")) == []
    talk.play()
    (packet,) = talk.say(interleave(2, b"rtp"))
    assert isinstance(packet, Interleaved)
    assert (packet.channel, bytes(packet.payload)) == (2, b"rtp")


def test_noise_is_told_of():
    talk = Talk()
    talk.play()
    assert talk.say(b"\xff\xfe\xfd\xfc\xfb\xfa" + interleave(2, b"\x80" + bytes(12)))[0] == Skipped(6)


@pytest.mark.parametrize(("offers", "method"), [((OFFERS,), "GET_PARAMETER"), ((), "OPTIONS")])
def test_a_session_is_kept_alive_within_its_timeout(offers, method):
    talk = Talk()
    talk.play(*offers)
    assert talk.client.next_deadline() == 10.0
    assert talk.client.due(9.9) == []
    assert talk.wait() == []
    assert talk.wait() == []
    assert methods(talk)[4:] == [method, method]
    assert talk.answer(500) == []
    talk.wait()
    assert methods(talk)[-1] == "OPTIONS"


def test_a_sign_of_life_on_the_packets_channel_goes_with_it():
    talk = Talk()
    talk.play()
    sent = [effect.content for effect in talk.client.due(10.0) if isinstance(effect, Send)]
    (frame,) = StreamDecoder().feed(sent[-1])
    assert isinstance(frame, Interleaved)
    assert frame.channel == 3
    assert rtcp.parse(frame.payload) == [rtcp.ReceiverReport(ssrc=0)]


def test_a_forgotten_session_has_failed():
    talk = Talk()
    talk.play()
    talk.wait()
    (failed,) = talk.answer(454)
    assert isinstance(failed, Failed)
    assert methods(talk)[-1] != "TEARDOWN"


def test_the_timeout_has_a_default():
    talk = Talk()
    talk.answer()
    talk.answer(200, body=SDP)
    talk.answer(200, ("Session", "7"))
    assert talk.answer() == [Playing(Channels(0, 1), DEFAULT_TIMEOUT)]
    assert talk.client.next_deadline() == 30.0


def test_a_challenge_and_a_stale_nonce_are_answered():
    talk = Talk()
    talk.answer(401, DIGEST)
    assert talk.asked[-1].method == "OPTIONS"
    assert "canary-7" not in str(talk.asked[-1].headers)
    talk.answer(200)
    assert talk.answer(401, STALE) == []
    assert 'nonce="n2"' in str(talk.asked[-1].headers.get("Authorization"))
    talk.answer(200, body=SDP)
    assert talk.client.state is ClientState.SETUP


def test_a_refused_login_is_a_failure_that_counts():
    talk = Talk()
    talk.answer(401, DIGEST)
    (failed,) = talk.answer(401, DIGEST)
    assert failed == Failed(
        code=StreamErrorCode.RTSP_AUTH_FAILED, step=ClientState.OPTIONS, status=401, is_login_refused=True
    )


def test_a_login_is_open_from_its_first_challenge_until_it_was_accepted():
    talk = Talk()
    assert not talk.client.is_login_open
    talk.answer(401, DIGEST)
    assert talk.client.is_login_open
    talk.answer(200)
    assert not talk.client.is_login_open


@pytest.mark.parametrize(("credential", "challenge"), [(None, DIGEST), (USER, ("WWW-Authenticate", "Negotiate"))])
def test_what_was_never_tried_does_not_count(credential, challenge):
    (failed,) = Talk(credential).answer(401, challenge)
    assert isinstance(failed, Failed)
    assert failed.code is StreamErrorCode.RTSP_AUTH_FAILED
    assert not failed.is_login_refused


def test_forbidden_counts_if_a_login_was_tried():
    talk = Talk()
    talk.answer(401, DIGEST)
    (failed,) = talk.answer(403)
    assert isinstance(failed, Failed)
    assert failed.is_login_refused


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (301, StreamErrorCode.URL_FORBIDDEN),
        (302, StreamErrorCode.URL_FORBIDDEN),
        (403, StreamErrorCode.RTSP_AUTH_FAILED),
        (404, StreamErrorCode.RTSP_NOT_FOUND),
        (453, StreamErrorCode.CAMERA_FULL),
        (503, StreamErrorCode.CAMERA_FULL),
        (461, StreamErrorCode.TRANSPORT_UNSUPPORTED),
        (599, StreamErrorCode.RTSP_REFUSED),
    ],
)
def test_each_refusal_has_its_code(status, code):
    talk = Talk()
    talk.answer()
    assert talk.answer(status, ("Location", "rtsp://evil/")) == [
        Failed(code=code, step=ClientState.DESCRIBE, status=status)
    ]
    assert talk.client.next_deadline() == math.inf
    assert talk.answer() == []


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", StreamErrorCode.CORRUPT_STREAM),
        (b"m=audio 0 RTP/AVP 0\r\n", StreamErrorCode.CODEC_UNSUPPORTED),
        (b"m=video 0 RTP/AVP 34\r\n", StreamErrorCode.CODEC_UNSUPPORTED),
        (SDP.replace(b"track1", b"tr ck"), StreamErrorCode.CORRUPT_STREAM),
    ],
)
def test_descriptions_that_cannot_be_shown(body, code):
    talk = Talk()
    talk.answer()
    failed = talk.answer(200, body=body)[-1]
    assert isinstance(failed, Failed)
    assert failed.code is code


def test_video_that_cannot_be_decoded_is_named_as_the_camera_names_it():
    talk = Talk()
    talk.answer()
    failed = talk.answer(200, body=b"m=audio 0 RTP/AVP 0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 MP4V-ES/90000\r\n")[-1]
    assert isinstance(failed, Failed)
    assert failed.encodings == ("MP4V-ES",)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ((), StreamErrorCode.RTSP_REFUSED),
        ((SESSION, ("Transport", "RTP/AVP;client_port=4-5")), StreamErrorCode.TRANSPORT_UNSUPPORTED),
    ],
)
def test_a_setup_without_session_or_channels_has_failed(fields, code):
    talk = Talk()
    talk.answer()
    talk.answer(200, body=SDP)
    failed = talk.answer(200, *fields)[-1]
    assert isinstance(failed, Failed)
    assert failed.code is code


def test_a_failure_after_setup_gives_the_session_back():
    talk = Talk()
    talk.answer()
    talk.answer(200, body=SDP)
    talk.answer(200, SESSION)
    (failed,) = talk.answer(453)
    assert isinstance(failed, Failed)
    assert methods(talk)[-1] == "TEARDOWN"


def test_silence_has_an_end():
    talk = Talk()
    assert talk.client.next_deadline() == ANSWER_WITHIN < 5.0
    assert talk.wait() == [Failed(code=StreamErrorCode.TCP_TIMEOUT, step=ClientState.OPTIONS)]


def test_options_that_a_server_does_not_know_are_no_failure():
    talk = Talk()
    assert talk.answer(501) == []
    assert methods(talk) == ["OPTIONS", "DESCRIBE"]


def test_replies_to_nothing_and_interim_replies_are_passed_over():
    talk = Talk()
    assert talk.say(b"RTSP/1.0 200 OK\r\nCSeq: 77\r\n\r\n") == []
    assert talk.answer(100) == []
    assert methods(talk) == ["OPTIONS"]
    talk.say(b"RTSP/1.0 200 OK\r\n\r\n")
    assert methods(talk) == ["OPTIONS", "DESCRIBE"]


def test_servers_may_ask_too():
    talk = Talk()
    replies = [
        effect.content
        for request in (b"OPTIONS * RTSP/1.0\r\nCSeq: 5\r\n\r\n", b"ANNOUNCE * RTSP/1.0\r\n\r\n")
        for effect in talk.client.receive(request, 0.0)
        if isinstance(effect, Send)
    ]
    assert replies == [b"RTSP/1.0 200 OK\r\nCSeq: 5\r\n\r\n", b"RTSP/1.0 501 Not Implemented\r\n\r\n"]


def test_a_redirect_in_the_middle_is_not_followed():
    talk = Talk()
    talk.play()
    (failed,) = talk.say(b"REDIRECT * RTSP/1.0\r\nCSeq: 1\r\nLocation: rtsp://evil/\r\n\r\n" + interleave(2, b"x"))
    assert failed == Failed(code=StreamErrorCode.URL_FORBIDDEN, step=ClientState.PLAYING)
    assert methods(talk)[-1] == "TEARDOWN"


def test_nonsense_is_a_corrupt_stream():
    talk = Talk()
    failed = talk.say(b"\xff" * 300_000)[-1]
    assert isinstance(failed, Failed)
    assert failed.code is StreamErrorCode.CORRUPT_STREAM
    assert talk.say(b"RTSP/1.0 200 OK\r\n\r\n") == []


def test_a_nonce_that_cannot_be_said_back_is_a_corrupt_stream():
    talk = Talk()
    (failed,) = talk.say(b'RTSP/1.0 401 No\r\nCSeq: 1\r\nWWW-Authenticate: Digest nonce="a\rb"\r\n\r\n')
    assert isinstance(failed, Failed)
    assert failed.code is StreamErrorCode.CORRUPT_STREAM


@pytest.mark.parametrize("status", [200, 401, 404])
def test_a_session_is_given_back(status):
    talk = Talk()
    talk.play()
    assert talk.leave() == []
    assert talk.leave() == []
    assert methods(talk)[-1] == "TEARDOWN"
    assert talk.answer(status) == [Ended()]
    assert talk.leave() == []


def test_a_server_that_does_not_say_goodbye_is_not_waited_for():
    talk = Talk()
    talk.play()
    talk.wait()
    late = talk.asked[-1]
    talk.leave()
    assert talk.say(Reply(status=200, headers=Headers((("CSeq", str(late.headers.cseq)),))).encode()) == []
    assert talk.wait() == [Ended()]


def test_leaving_before_a_session_exists_ends_at_once():
    assert Talk().leave() == [Ended()]


def test_what_is_sent_is_not_printed():
    talk = Talk()
    assert "canary" not in repr(talk.client.__dict__)
    assert repr(Send(b"secret")) == "Send(6 bytes)"
