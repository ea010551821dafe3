"""One camera's decoder, with pictures that PyAV encoded."""

import numpy as np
from numpy.typing import NDArray

from streamward.drivers.decoder import DecodedFrame, Decoder
from streamward.model.video import SkipLoopFilter, VideoCodec
from streamward.vision.lane import ArrivedUnit
from tests.support.videos import a_video


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
