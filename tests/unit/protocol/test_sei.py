"""Notes inside a video stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.video import NAL_CODECS, VideoCodec
from streamward.protocol.sei import SentFrame, read, write

CODECS = pytest.mark.parametrize("codec", NAL_CODECS)


@CODECS
@given(st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_a_note_is_read_as_it_was_written_and_looks_like_no_start_code(codec, number, sent_at):
    note = SentFrame("cam-1", number, sent_at)
    nal = write(note, codec=codec)
    assert read(nal, codec=codec) == note
    assert b"\x00\x00\x00" not in nal
    assert b"\x00\x00\x01" not in nal


@CODECS
@given(st.binary(max_size=100))
def test_whatever_else_a_stream_holds_is_no_note(codec, content):
    assert read(content, codec=codec) is None
    assert read(b"\x06" + content, codec=VideoCodec.H264) is None


@CODECS
def test_a_note_cut_short_is_none(codec):
    nal = write(SentFrame("camera", 7, 8), codec=codec)
    assert all(read(nal[:size], codec=codec) is None for size in range(len(nal) - 8))
