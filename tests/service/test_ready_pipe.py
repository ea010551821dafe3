"""The pipe of `--ready-fd`, as its starter reads it."""

import os
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise

import pytest

from streamward.protocol.readiness import BatcherReady
from streamward.up.ready_pipe import EndedBeforeReady, ReadyPipe

READY = BatcherReady(pid=7, url="http://127.0.0.1:9109")
LINE = b'{"role":"batcher","pid":7,"url":"http://127.0.0.1:9109"}\n'


@pytest.fixture
def pipe() -> Iterator[ReadyPipe[BatcherReady]]:
    with closing(ReadyPipe(BatcherReady)) as made:
        yield made


def test_a_message_in_pieces_is_read_when_it_is_whole(pipe: ReadyPipe[BatcherReady]) -> None:
    for begin, end in pairwise([0, 1, 20, len(LINE) - 1]):
        os.write(pipe.writer, LINE[begin:end])
        assert pipe.receive() is None
    os.write(pipe.writer, LINE[-1:])
    assert pipe.receive() == READY


def test_a_message_stays_when_its_role_has_ended(pipe: ReadyPipe[BatcherReady]) -> None:
    os.write(pipe.writer, LINE)
    pipe.close_writer()
    assert [pipe.receive(), pipe.receive(within=60)] == [READY, READY]


@pytest.mark.parametrize("sent", [b"", LINE[:-1]])
def test_a_role_that_ends_before_its_whole_message_is_noticed(pipe: ReadyPipe[BatcherReady], sent: bytes) -> None:
    os.write(pipe.writer, sent)
    pipe.close_writer()
    with pytest.raises(EndedBeforeReady, match="ended before it was ready"):
        pipe.receive(within=60)


def test_the_command_line_names_the_writing_end_which_is_not_inherited(pipe: ReadyPipe[BatcherReady]) -> None:
    assert pipe.option == ("--ready-fd", str(pipe.writer))
    assert not os.get_inheritable(pipe.writer)
