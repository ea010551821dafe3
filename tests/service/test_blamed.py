"""A decoder's camera stands on the board while it decodes and while its frames are taken, and not after."""

import asyncio
import os
from collections.abc import Iterable
from random import Random
from typing import Any

from streamward.drivers.detectors.colour import ColourDetector
from streamward.model.ids import CameraId
from streamward.model.secret import Secret
from streamward.model.video import VideoCodec
from streamward.protocol.fields import ClearText
from streamward.protocol.shards import ShardConfig, Source
from streamward.runner.blamed import BlamedDecoder
from streamward.runner.logins import LocalLogins
from streamward.runner.parts import WorkerParts
from streamward.runner.worker import Worker
from streamward.runtime import blame
from streamward.runtime.blame import Board
from streamward.runtime.clock import SystemClock
from streamward.runtime.journal import Journal
from streamward.vision.lane import ArrivedUnit


class Looking:
    """Tells as frames what stands on the board while it decodes."""

    corrupt = 3
    holds_back = False

    def __init__(self, board: Board) -> None:
        self._board = board

    def decode(self, content: bytes, *, is_keyframe: bool) -> Iterable[Any]:
        yield from [self._board.names(), content, is_keyframe]

    def rest(self) -> Iterable[Any]:
        yield self._board.names()


class Silent:
    """Whatever else a Worker talks to."""

    def __getattr__(self, _name: str) -> Any:
        return lambda *_args, **_named: None


def parts(board: Board, seen: asyncio.Queue[Any]) -> WorkerParts:
    silent: Any = Silent()

    class Telling(Looking):
        def decode(self, content: bytes, *, is_keyframe: bool) -> Iterable[Any]:
            loop.call_soon_threadsafe(seen.put_nowait, next(iter(super().decode(content, is_keyframe=is_keyframe))))
            return ()

    async def dial(_source: Source, listener: Any) -> Any:
        listener.playing(VideoCodec.H264)
        listener.unit(ArrivedUnit(content=b"unit", is_keyframe=True, arrived_at=SystemClock().boot()))
        await asyncio.Event().wait()

    loop = asyncio.get_running_loop()
    return WorkerParts(
        clock=SystemClock(),
        detector=lambda _name: ColourDetector(),
        decoder=lambda _codec: Telling(board),
        dial=dial,
        login=lambda _source: None,
        logins=LocalLogins(clock=SystemClock()),
        stamps=silent,
        sink=silent,
        ear=silent,
        journal=Journal(),
        random=Random(1),
        board=board,
    )


async def test_a_worker_with_a_board_names_each_camera_while_it_decodes_it() -> None:
    board, seen = Board.over(blame.new_page()), asyncio.Queue[Any]()
    source = Source(camera_uuid="cam-7", url=ClearText(Secret("")), site_id="site-1", tenant_id="t-1")
    worker = Worker(ShardConfig(runner_id="r1", shard_id="s0", sources=[source]), parts(board, seen))
    worker.add(source)
    assert await asyncio.wait_for(seen.get(), 60) == ["cam-7"]
    await worker.close()


def test_the_camera_is_named_while_it_is_decoded():
    page = blame.new_page()
    ours, theirs = Board.over(os.dup(page)), Board.over(page)
    decoder = BlamedDecoder(Looking(theirs), CameraId("cam-1"), board=ours)
    taken = [(frame, theirs.names()) for frame in decoder.decode(b"unit", is_keyframe=True)]
    assert taken == [(["cam-1"], ["cam-1"]), (b"unit", ["cam-1"]), (True, ["cam-1"])]
    rest: list[Any] = list(decoder.rest())
    assert rest == [["cam-1"]]
    assert theirs.names() == []
    assert (decoder.corrupt, decoder.holds_back) == (3, False)
