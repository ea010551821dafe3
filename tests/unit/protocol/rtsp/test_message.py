"""RTSP messages: strict when sent, lenient when read."""

import pytest

from streamward.protocol.rtsp.message import (
    LARGEST_BODY,
    MOST_HEADERS,
    Headers,
    MalformedMessage,
    Reply,
    Request,
    UnsendableMessage,
    body_length,
    decode_head,
)


def test_a_request_is_sent_and_read_alike():
    request = Request(method="PLAY", uri="rtsp://h/a", headers=Headers((("CSeq", "3"), ("Session", "x"))))
    assert request.encode() == b"PLAY rtsp://h/a RTSP/1.0\r\nCSeq: 3\r\nSession: x\r\n\r\n"
    assert decode_head(request.encode()) == request


def test_a_reply_tells_the_length_of_its_body():
    reply = Reply(status=200, reason="OK", headers=Headers((("CSeq", "3"),)), body=b"v=0")
    assert reply.encode() == b"RTSP/1.0 200 OK\r\nCSeq: 3\r\nContent-Length: 3\r\n\r\nv=0"
    assert reply.is_success
    assert not Reply(status=302).is_success


@pytest.mark.parametrize(
    "message",
    [
        Request(method="PL AY", uri="rtsp://h"),
        Request(method="", uri="rtsp://h"),
        Request(method="PLAY", uri="rtsp://h/a b"),
        Request(method="PLAY", uri="rtsp://h/a\r\nEvil: 1"),
        Request(method="PLAY", uri=""),
        Reply(status=20),
        Reply(status=200, reason="OK\r\n"),
        Reply(status=200, headers=Headers((("A", "b\nc"),))),
        Reply(status=200, headers=Headers((("A:b", "c"),))),
        Reply(status=200, headers=Headers((("Content-Length", "7"),))),
        Reply(status=200, headers=Headers((("A", "b"),) * MOST_HEADERS)),
        Reply(status=200, body=b"x" * (LARGEST_BODY + 1)),
    ],
)
def test_what_could_be_read_as_something_else_is_not_sent(message):
    with pytest.raises(UnsendableMessage) as refused:
        message.encode()
    assert "may not be sent" in str(refused.value)


def test_careless_cameras_are_understood():
    head = b"RTSP/1.0 200\nPublic : OPTIONS,\n DESCRIBE\nnonsense\n: nothing\ncseq:4\r\n"
    reply = decode_head(head)
    assert isinstance(reply, Reply)
    assert (reply.status, reply.reason) == (200, "")
    assert reply.headers.get("PUBLIC") == "OPTIONS, DESCRIBE"
    assert reply.headers.cseq == 4
    assert len(reply.headers.fields) == 2


def test_headers_may_come_several_times():
    headers = Headers((("A", "1"), ("a", "2"))).plus("B", "3")
    assert headers.all("A") == ("1", "2")
    assert headers.get("b") == "3"
    assert headers.get("c") is None
    assert headers.cseq is None
    assert Headers((("CSeq", "x"),)).cseq is None


@pytest.mark.parametrize(
    "head", [b"", b"\r\n", b"GET / HTTP/1.1", b"RTSP/1.0 20", b"x" * 50, b"RTSP/1.0 200 OK\nA:b" * 200]
)
def test_what_is_no_rtsp_is_refused(head):
    with pytest.raises(MalformedMessage) as refused:
        decode_head(head)
    assert "not an RTSP message" in str(refused.value)


def test_bytes_that_are_no_text_survive_a_round_trip():
    reply = decode_head(b'RTSP/1.0 401 \xff\x07\r\nWWW-Authenticate: Digest realm="\xff\xe4"')
    assert isinstance(reply, Reply)
    assert reply.reason == "??"
    assert b'realm="\xff\xe4"' in reply.encode()


@pytest.mark.parametrize(("values", "length"), [((), 0), (("5",), 5), (("5", "5"), 5)])
def test_the_length_of_a_body(values, length):
    assert body_length(Headers(tuple(("content-length", value) for value in values))) == length


@pytest.mark.parametrize("values", [("-1",), ("x",), ("5", "6"), ("99999999",), ("",)])
def test_lengths_that_cannot_be_are_refused(values):
    with pytest.raises(MalformedMessage):
        body_length(Headers(tuple(("Content-Length", value) for value in values)))
