"""A camera's decoder that leaves a trace: if it takes the Worker's process along, the Manager can read which it was."""

from collections.abc import Iterable

from streamward.model.ids import CameraId
from streamward.runner.pipeline import Frame, FrameDecoder
from streamward.runtime.blame import Board


class BlamedDecoder:
    """The same decoder, with its camera's name on the board while it, or whoever takes its frames, is at work."""

    def __init__(self, decoder: FrameDecoder, camera_id: CameraId, *, board: Board) -> None:
        self._decoder = decoder
        self._camera_id = camera_id
        self._board = board

    @property
    def corrupt(self) -> int:
        return self._decoder.corrupt

    @property
    def holds_back(self) -> bool:
        return self._decoder.holds_back

    def decode(self, content: bytes, *, is_keyframe: bool) -> Iterable[Frame]:
        with self._board.doing(self._camera_id):
            yield from self._decoder.decode(content, is_keyframe=is_keyframe)

    def rest(self) -> Iterable[Frame]:
        with self._board.doing(self._camera_id):
            yield from self._decoder.rest()
