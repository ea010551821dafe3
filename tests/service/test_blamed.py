"""A decoder's camera stands on the board while it decodes and while its frames are taken, and not after."""

import os
from collections.abc import Iterable
from typing import Any

from streamward.model.ids import CameraId
from streamward.runner.blamed import BlamedDecoder
from streamward.runtime import blame
from streamward.runtime.blame import Board


class Looking:
    """Tells as frames what stands on the board while it decodes."""

    corrupt = 3

    def __init__(self, board: Board) -> None:
        self._board = board

    def decode(self, content: bytes, *, is_keyframe: bool) -> Iterable[Any]:
        yield from [self._board.names(), content, is_keyframe]


def test_the_camera_is_named_while_it_is_decoded():
    page = blame.new_page()
    ours, theirs = Board.over(os.dup(page)), Board.over(page)
    decoder = BlamedDecoder(Looking(theirs), CameraId("cam-1"), board=ours)
    taken = [(frame, theirs.names()) for frame in decoder.decode(b"unit", is_keyframe=True)]
    assert taken == [(["cam-1"], ["cam-1"]), (b"unit", ["cam-1"]), (True, ["cam-1"])]
    assert theirs.names() == []
    assert decoder.corrupt == 3
