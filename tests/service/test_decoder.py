"""One camera's decoder, with pictures that PyAV encoded."""

import random
from dataclasses import replace
from typing import Any

import av
import numpy as np
import pytest
from av.error import FFmpegError
from numpy.typing import NDArray

from streamward.drivers.decoder import DecodedFrame, Decoder
from streamward.drivers.hardware import NAMES, AvDevice, Hardware, HardwareUnusable
from streamward.model.video import NAL_CODECS, HardwareDecoding, SkipLoopFilter, VideoCodec
from streamward.vision.decoding import MOST_KEPT
from streamward.vision.lane import ArrivedUnit
from tests.support.videos import a_reordered_video, a_video


def moving(count: int) -> list[NDArray[np.uint8]]:
    """Coarse noise that moves: blocks have edges that a filter smooths."""
    coarse = np.random.default_rng(1).integers(0, 255, (24, 40, 3), dtype=np.uint8)
    ground = coarse.repeat(8, axis=0).repeat(8, axis=1)
    return [np.roll(ground, 3 * number, axis=1) for number in range(count)]


def decoded(decoder: Decoder, units: list[ArrivedUnit]) -> list[DecodedFrame]:
    return [frame for unit in units for frame in decoder.decode(unit.content, is_keyframe=unit.is_keyframe)]


def pixels(units: list[ArrivedUnit], skip: SkipLoopFilter) -> list[NDArray[np.uint8]]:
    return [frame.fitted(frame.size) for frame in decoded(Decoder(VideoCodec.H264, skip=skip), units)]


def test_pictures_without_the_loop_filter_are_less_exact_and_all_there():
    units = a_video(moving(8), preset="veryfast")
    full, less = (pixels(units, skip) for skip in (SkipLoopFilter.NONE, SkipLoopFilter.ALL))
    assert len(full) == len(less) == 8
    off = [np.abs(one.astype(int) - other).mean() for one, other in zip(full, less, strict=True)]
    assert 0 < max(off) < 16


def test_a_filter_that_is_skipped_where_no_other_picture_refers_to_changes_nothing_if_all_are_referred_to():
    units = a_video(moving(8), preset="veryfast")
    full, same = (pixels(units, skip) for skip in (SkipLoopFilter.NONE, SkipLoopFilter.NONREF))
    assert all(np.array_equal(one, other) for one, other in zip(full, same, strict=True))


class FailingContext:
    """Decodes so many units like the processor does, and then none."""

    def __init__(self, codec: VideoCodec, *, after: int) -> None:
        self._context: Any = av.CodecContext.create(NAMES[codec], "r")
        self._left = after

    @property
    def has_b_frames(self) -> bool:
        return bool(self._context.has_b_frames)

    def flush_buffers(self) -> None:
        self._context.flush_buffers()

    def decode(self, packet: Any) -> list[av.VideoFrame]:
        if self._left == 0:
            raise FFmpegError(5, "the device is gone")
        self._left -= 1
        return list(self._context.decode(packet))


class Card:
    """A device of which each decoder does so many units; None: it has none."""

    def __init__(self, after: int | None) -> None:
        self.asked = 0
        self._after = after

    def opened(self, codec: VideoCodec) -> FailingContext:
        self.asked += 1
        if self._after is None:
            raise HardwareUnusable("card", "it is not there")
        return FailingContext(codec, after=self._after)


class Told(list[HardwareUnusable]):
    """What was said of a device."""

    def tell(self, error: HardwareUnusable) -> None:
        self.append(error)


def on(card: Card, told: Told) -> Hardware:
    return Hardware(card, told.tell)


def sums(frames: list[DecodedFrame]) -> list[int]:
    return [int(frame.fitted(frame.size).sum()) for frame in frames]


@pytest.mark.parametrize("codec", NAL_CODECS)
def test_without_the_device_the_processor_decodes_and_that_is_told_once(codec: VideoCodec):
    units, card, told = a_video(moving(6), codec=codec), Card(None), Told()
    hardware = on(card, told)
    for _camera in range(3):
        decoder = Decoder(codec, hardware=hardware)
        assert sums(decoded(decoder, units)) == sums(decoded(Decoder(codec), units))
        assert decoder.corrupt == 0
    assert (len(told), card.asked) == (1, 1)


@pytest.mark.parametrize("asked", [kind for kind in HardwareDecoding if kind is not HardwareDecoding.NONE])
def test_real_devices_that_are_not_here_leave_pictures_as_they_were(asked: HardwareDecoding):
    units, told = a_video(moving(6)), Told()
    decoder = Decoder(VideoCodec.H264, hardware=Hardware(AvDevice(asked), told.tell))
    assert sums(decoded(decoder, units)) == sums(decoded(Decoder(VideoCodec.H264), units))
    assert len(told) <= 1  # none where there is such a device


@pytest.mark.parametrize("after", [0, 1, 3, 5, 7])
def test_a_device_that_fails_in_mid_stream_is_followed_by_the_processor_without_a_picture_lost(after: int):
    units, told = a_video(moving(15), gop=5), Told()
    decoder = Decoder(VideoCodec.H264, hardware=on(Card(after), told))
    assert sums(decoded(decoder, units)) == sums(decoded(Decoder(VideoCodec.H264), units))
    assert (decoder.corrupt, decoder.is_waiting, len(told)) == (0, False, 1)
    assert "the device is gone" in str(told[0])


@pytest.mark.parametrize("large", [0, 1])
def test_after_more_than_can_be_kept_the_processor_waits_for_the_next_keyframe(large: int):
    units, told = a_video(moving(10), gop=5), Told()
    every = sums(decoded(Decoder(VideoCodec.H264), units))
    filler = b"\0\0\0\1\x0c" + b"\xff" * MOST_KEPT
    units[large] = replace(units[large], content=units[large].content + filler)
    decoder = Decoder(VideoCodec.H264, hardware=on(Card(3), told))
    assert sums(decoded(decoder, units)) == every[:3] + every[5:]
    assert (decoder.corrupt, len(told)) == (0, 1)


def test_a_picture_that_neither_can_read_is_corrupt_once_and_the_next_keyframe_is_shown():
    units, told = a_video(moving(10), gop=5), Told()
    spoilt = [replace(units[0], content=b"\0\0\0\1\x65garbage"), *units[1:]]
    decoder = Decoder(VideoCodec.H264, hardware=on(Card(0), told))
    assert len(decoded(decoder, spoilt)) == 5
    assert (decoder.corrupt, len(told)) == (1, 1)


def test_every_frame_that_refers_to_a_corrupt_keyframe_is_corrupt():
    units = a_video(moving(10), gop=5)
    half = len(units[0].content) // 2
    spoilt = [replace(units[0], content=units[0].content[:half] + random.Random(1).randbytes(half)), *units[1:]]
    decoder = Decoder(VideoCodec.H264)
    assert len(decoded(decoder, spoilt[:5])) == 5
    assert decoder.corrupt == 5
    assert len(decoded(decoder, spoilt[5:])) == 5
    assert decoder.corrupt == 5


def test_a_decoder_that_failed_on_a_device_leaves_that_to_others():
    units, card, told = a_video(moving(6)), Card(3), Told()
    hardware = on(card, told)
    decoded(Decoder(VideoCodec.H264, hardware=hardware), units)
    decoded(Decoder(VideoCodec.H264, hardware=hardware), units)
    assert (card.asked, len(told)) == (2, 2)


def test_a_device_that_works_is_all_that_decodes():
    units, told = a_video(moving(6)), Told()
    decoder = Decoder(VideoCodec.H264, hardware=on(Card(100), told))
    assert sums(decoded(decoder, units)) == sums(decoded(Decoder(VideoCodec.H264), units))
    assert not told


LEVELS = (40, 80, 120, 160, 200)


def steps() -> list[NDArray[np.uint8]]:
    """Five groups of five pictures, each brighter than the one before."""
    return [np.full((96, 128, 3), level, np.uint8) for level in LEVELS for _ in range(5)]


def levels(frames: list[DecodedFrame]) -> list[int]:
    return [round(float(frame.fitted(frame.size).mean()) / 10) * 10 for frame in frames]


@pytest.mark.parametrize("after", [None, 0, 2, 100])
@pytest.mark.parametrize("codec", NAL_CODECS)
def test_a_keyframe_that_is_decoded_alone_gives_its_own_picture_where_others_are_shown_before(codec, after):
    decoder = Decoder(codec, hardware=on(Card(after), Told()))
    keys = [unit for unit in a_reordered_video(steps(), codec=codec) if unit.is_keyframe]
    assert len(keys) == len(LEVELS)
    assert levels([[*decoded(decoder, [key]), *decoder.rest()][-1] for key in keys]) == [*LEVELS]
    assert decoder.holds_back


@pytest.mark.parametrize("after", [None, 2, 3])
def test_what_follows_a_keyframe_that_was_decoded_alone_is_decoded_like_after_any_other(after):
    units = a_reordered_video(moving(10), gop=10)
    every = sums([*decoded(whole := Decoder(VideoCodec.H264), units), *whole.rest()])
    decoder = Decoder(VideoCodec.H264, hardware=on(Card(after), Told()))
    alone = [*decoded(decoder, units[:1]), *decoder.rest()]
    assert sums(alone) == every[:1]
    assert sums([*decoded(decoder, units[1:]), *decoder.rest()])[-8:] == every[-8:]
    assert decoder.corrupt == 0


def test_a_camera_that_sends_pictures_as_they_are_shown_has_none_held_back():
    decoder, units = Decoder(VideoCodec.H264), a_video(moving(6))
    assert not list(decoder.rest())
    assert len(decoded(decoder, units[:3])) == 3
    assert not decoder.holds_back
    assert not list(decoder.rest())
    assert len(decoded(decoder, units[3:])) == 3


def test_a_device_that_cannot_give_what_it_holds_back_is_followed_by_the_processor():
    units, told = a_reordered_video(steps()), Told()
    decoder = Decoder(VideoCodec.H264, hardware=on(Card(1), told))
    assert levels([*decoded(decoder, units[:1]), *decoder.rest()]) == [40]
    assert levels([*decoded(decoder, units[5:6]), *decoder.rest()]) == [80]
    assert (decoder.corrupt, decoder.is_waiting, len(told)) == (0, False, 1)


def test_after_a_keyframe_that_is_too_large_to_keep_the_processor_begins_with_the_next():
    units, told = a_reordered_video(steps()), Told()
    filler = b"\0\0\0\1\x0c" + b"\xff" * MOST_KEPT
    decoder = Decoder(VideoCodec.H264, hardware=on(Card(1), told))
    large = replace(units[0], content=units[0].content + filler)
    assert [*decoded(decoder, [large]), *decoder.rest()] == []
    assert levels([*decoded(decoder, units[1:6]), *decoder.rest()]) == [80]
    assert (decoder.corrupt, len(told)) == (0, 1)
