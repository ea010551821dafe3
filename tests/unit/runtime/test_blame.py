"""What was being done, read from outside; a real crash is in `tests/system/test_fork_server.py`."""

import contextlib
import os
import threading

from streamward.runtime import blame
from streamward.runtime.blame import Board


def two_ends() -> tuple[Board, Board]:
    page = blame.new_page()
    return Board.over(os.dup(page)), Board.over(page)


def test_the_reader_sees_what_is_being_done_and_not_what_was():
    writer, reader = two_ends()
    assert reader.names() == []
    with writer.doing("a-very-long-name-" + "x" * 40):
        pass
    with writer.doing("cam-2"):
        assert reader.names() == ["cam-2"]
    assert reader.names() == []


def test_what_is_looked_at_can_be_told_from_what_is_decoded():
    writer, reader = two_ends()
    with writer.doing("cam-1"), writer.doing("c" * 64, is_look=True):
        assert reader.names() == ["cam-1", "c" * 64]
        assert reader.looks() == ["c" * 64]
    assert reader.names() == reader.looks() == []


def test_an_id_of_the_longest_kind_is_told_whole_and_more_is_cut():
    writer, reader = two_ends()
    with writer.doing("c" * 64):
        assert reader.names() == ["c" * 64]
    with writer.doing("é" * 64):
        assert reader.names() == ["é" * 32]


def test_each_thread_has_its_own_place():
    writer, reader = two_ends()
    barrier = threading.Barrier(3)
    seen: list[list[str]] = []

    def work(name: str) -> None:
        with writer.doing(name):
            barrier.wait(60)
            barrier.wait(60)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("cam-1", "cam-2")]
    for thread in threads:
        thread.start()
    barrier.wait(60)
    seen.append(reader.names())
    barrier.wait(60)
    for thread in threads:
        thread.join()
    assert seen == [["cam-1", "cam-2"]]
    assert reader.names() == []


def test_one_thing_too_many_at_a_time_is_done_without_being_told():
    writer, reader = two_ends()
    with contextlib.ExitStack() as done:
        for number in range(blame.SLOTS + 1):
            done.enter_context(writer.doing(f"cam-{number}"))
        assert len(reader.names()) == blame.SLOTS
    with writer.doing("cam-1"):  # there is room again
        assert reader.names() == ["cam-1"]
    reader.close()
