"""The connection as units, however it is cut into chunks."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtsp.framing import (
    LARGEST_FRAME,
    LARGEST_HEAD,
    MOST_SKIPPED,
    Broken,
    Interleaved,
    LostFraming,
    Skipped,
    StreamDecoder,
    Unit,
    interleave,
)
from streamward.protocol.rtsp.message import LARGEST_BODY, Headers, MalformedMessage, Reply, Request, UnsendableMessage

REPLY = Reply(status=200, reason="OK", headers=Headers((("CSeq", "1"),)))
REQUEST = Request(method="OPTIONS", uri="rtsp://h/", headers=Headers((("CSeq", "2"),)))
RTP = b"\x80\x60" + bytes(20)

_messages = st.one_of(
    st.binary(max_size=300).map(lambda payload: interleave(0, payload)),
    st.binary(max_size=300).map(lambda body: Reply(status=200, reason="OK", body=body).encode()),
    st.just(REQUEST.encode()),
    st.sampled_from([b"\r\n", b"\n\n\r\n", b"\0\0"]),
)
_noise = st.one_of(_messages, st.binary(max_size=60), st.sampled_from([b"$\1", b"RTSP/1.0 2", b"RTSP/1.", b"PLAY "]))


def told(units: list[Unit]) -> list[object]:
    """Units as values that can be compared; noise that was told of in pieces counts as one."""
    values: list[object] = []
    for unit in units:
        match unit:
            case Interleaved(channel=channel, payload=payload):
                values.append((channel, bytes(payload)))
            case Skipped(count=count):
                before = values[-1] if values else None
                values[-1:] = [before + count] if isinstance(before, int) else [*values[-1:], count]
            case Broken(error=error):
                values.append(str(error))
            case _:
                values.append(unit)
    return values


def fed(stream: bytes, cuts: list[int], decoder: StreamDecoder) -> list[object]:
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    units: list[Unit] = []
    for start, end in itertools.pairwise(places):
        units += decoder.feed(stream[start:end])
        assert decoder.buffered <= LARGEST_HEAD + LARGEST_BODY
    return told(units)


@given(st.lists(_messages, max_size=8), st.lists(st.integers(0, 10_000), max_size=20))
def test_any_split_gives_the_same_units(parts, cuts):
    stream = b"".join(parts)
    assert fed(stream, cuts, StreamDecoder()) == fed(stream, [], StreamDecoder())


@given(st.lists(_noise, max_size=10), st.lists(st.integers(0, 10_000), max_size=20), st.booleans())
def test_any_split_of_noise_gives_the_same_units(parts, cuts, searches):
    stream, resync = b"".join(parts), (0, 1) if searches else ()
    assert fed(stream, cuts, StreamDecoder(resync=resync)) == fed(stream, [], StreamDecoder(resync=resync))


def test_messages_and_frames_come_mixed():
    stream = b"\r\n" + REPLY.encode() + interleave(1, b"abc") + b"\0\r\n" + REQUEST.encode() + interleave(0, b"")
    assert fed(stream, [], StreamDecoder()) == [REPLY, (1, b"abc"), REQUEST, (0, b"")]
    assert fed(stream, list(range(len(stream))), StreamDecoder()) == [REPLY, (1, b"abc"), REQUEST, (0, b"")]


@pytest.mark.parametrize(("channel", "payload"), [(-1, b""), (256, b""), (0, bytes(LARGEST_FRAME + 1))])
def test_frames_that_cannot_be_are_not_sent(channel, payload):
    with pytest.raises(UnsendableMessage):
        interleave(channel, payload)


def test_noise_is_an_error_where_none_is_expected():
    decoder = StreamDecoder()
    units = decoder.feed(REPLY.encode() + b"\xff\xfe\xfd\xfc\xfb" + REPLY.encode())
    assert units[0] == REPLY
    assert isinstance(units[1], Broken)
    assert isinstance(units[1].error, MalformedMessage)
    assert decoder.feed(REPLY.encode()) == []


def test_noise_is_passed_over_up_to_the_next_frame_of_ours():
    noise = b"\xff\xfe $\7\0\1\x80 $\0\0\1\7 "
    units = StreamDecoder(resync=(0, 1)).feed(interleave(0, RTP) + noise + interleave(0, RTP) + REPLY.encode())
    assert told(units) == [(0, RTP), len(noise), (0, RTP), REPLY]


def test_noise_is_passed_over_up_to_the_next_reply():
    units = StreamDecoder(resync=(0,)).feed(b"PLAY nonsense\r\n\r\n" + REPLY.encode())
    assert told(units) == [17, REPLY]


def test_too_much_noise_is_the_end():
    decoder = StreamDecoder(resync=(0,))
    units = decoder.feed(b"\xff" * (MOST_SKIPPED + 20))
    assert isinstance(units[-1], Broken)
    assert isinstance(units[-1].error, LostFraming)
    assert "no RTSP message" in str(units[-1].error)
    assert decoder.buffered == 0


def test_noise_is_forgiven_after_a_frame():
    decoder = StreamDecoder(resync=(0,))
    for _ in range(3):
        units = decoder.feed(b"\xff" * (MOST_SKIPPED - 5) + interleave(0, RTP))
        assert told(units)[-1] == (0, RTP)


def test_a_head_without_end_is_the_end():
    decoder = StreamDecoder()
    units = decoder.feed(b"OPTIONS rtsp://h RTSP/1.0\r\n") + decoder.feed(b"A: b\r\n" * LARGEST_HEAD)
    assert [type(unit) for unit in units] == [Broken]


@pytest.mark.parametrize(
    "noise", [b"RTSP/1.0 200 OK\r\n" * 3000, b"OPTIONS" * 3000, b"RTSP/1.0 200 OK\r\nA: RTSP/1." * 999]
)
def test_long_noise_is_split_alike_and_not_looked_at_twice(noise):
    stream = noise + b"\r\n\r\n" + interleave(0, RTP)
    whole = fed(stream, [], StreamDecoder(resync=(0, 1)))
    assert fed(stream, list(range(0, len(stream), 997)), StreamDecoder(resync=(0, 1))) == whole
    assert whole[-1] == (0, RTP)
    units = StreamDecoder(resync=(0, 1)).feed(stream)
    assert len(units) < 10


def test_a_body_is_waited_for_without_looking_at_every_byte():
    decoder = StreamDecoder()
    reply = Reply(status=200, reason="OK", body=bytes(1000))
    stream = reply.encode()
    assert decoder.feed(stream[:-1]) == []
    (read,) = decoder.feed(stream[-1:])
    assert isinstance(read, Reply)
    assert read.body == reply.body
