"""From packets to pictures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.model.video import NAL_CODECS, PictureSize, VideoCodec
from streamward.protocol.rtp.nal import join
from streamward.protocol.rtp.reader import (
    AccessUnit,
    DropReason,
    Found,
    PacketRefused,
    PacketsLost,
    PayloadTypeChanged,
    PictureSizeChanged,
    ReaderSpec,
    RtpReader,
    SequenceRestarted,
    SourceChanged,
    TimestampJumped,
    UnitDropped,
)
from tests.support.pictures import (
    PPS_H264,
    SPS_H264,
    TICKS,
    a_packet,
    clip,
    decoded,
    keyframe_h264,
    packets,
    picture_h264,
    slice_h264,
)

SPEC = ReaderSpec(codec=VideoCodec.H264, payload_type=96, parameter_sets=(SPS_H264, PPS_H264), window=4)
STREAM = [keyframe_h264(300), *[picture_h264(300)] * 4, keyframe_h264(300), picture_h264(300)]  # 3 packets or more each


def read(sent: list[bytes], spec: ReaderSpec = SPEC) -> list[Found]:
    reader = RtpReader(spec)
    return [found for packet in sent for found in reader.receive(memoryview(packet))]


def units(found: list[Found]) -> list[AccessUnit]:
    return [each for each in found if isinstance(each, AccessUnit)]


def cut(stream: list[bytes] = STREAM) -> list[list[bytes]]:
    """The packets of each unit."""
    every = packets(stream, largest=120)
    stamps = sorted({packet[4:8] for packet in every})
    return [[packet for packet in every if packet[4:8] == stamp] for stamp in stamps]


def flat(parts: list[list[bytes]]) -> list[bytes]:
    return [packet for part in parts for packet in part]


@pytest.mark.parametrize("codec", NAL_CODECS)
@pytest.mark.parametrize("largest", [20, 200, 1400, 60_000])
def test_real_pictures_arrive_and_are_decoded(codec, largest):
    encoded = clip(codec)
    found = read(packets(encoded, codec=codec, largest=largest, first=65_530), ReaderSpec(codec=codec, payload_type=96))
    assert found[0] == PictureSizeChanged(None, PictureSize(320, 240))
    assert len(units(found)) == len(encoded) == len(found) - 1
    assert not any(unit.is_damaged for unit in units(found))
    assert [unit.is_keyframe for unit in units(found)] == [number % 10 == 0 for number in range(30)]
    assert decoded(codec, [unit.content for unit in units(found)]) == decoded(codec, encoded) == 30


def test_a_stream_without_loss_is_the_same_at_its_end():
    found = read(flat(cut()))
    assert [unit.content for unit in units(found)] == STREAM
    assert [unit.timestamp for unit in units(found)] == [number * TICKS for number in range(len(STREAM))]
    assert len(found) == len(STREAM)


def test_a_lost_packet_drops_its_picture_and_damages_up_to_the_next_keyframe():
    parts = cut()
    del parts[1][1]
    found = read(flat(parts))
    assert found[1:3] == [PacketsLost(1), UnitDropped(DropReason.LOSS)]
    assert [unit.is_damaged for unit in units(found)] == [False, True, True, True, False, False]


def test_a_lost_end_drops_its_picture():
    parts = cut()
    del parts[1][-1]
    found = read(flat(parts))
    assert found[1:3] == [PacketsLost(1), UnitDropped(DropReason.LOSS)]
    assert [unit.timestamp // TICKS for unit in units(found)] == [0, 2, 3, 4, 5, 6]


def test_a_lost_beginning_drops_its_picture():
    parts = cut()
    del parts[1][0]
    found = read(flat(parts))
    assert found[1:3] == [PacketsLost(1), UnitDropped(DropReason.MALFORMED)]
    assert [unit.timestamp // TICKS for unit in units(found)] == [0, 2, 3, 4, 5, 6]


def test_a_lost_first_slice_drops_its_picture():
    sliced = join([slice_h264(100), slice_h264(100, first=False)])
    parts = cut([keyframe_h264(100), sliced, sliced, sliced, sliced])
    del parts[1][0]
    found = read(flat(parts))
    assert found[1:3] == [PacketsLost(1), UnitDropped(DropReason.LOSS)]
    assert len(units(found)) == 4


def test_a_whole_lost_picture_damages_those_after_it():
    parts = cut()
    del parts[1]
    found = read(flat(parts))
    assert [unit.is_damaged for unit in units(found)] == [False, True, True, True, False, False]
    assert not any(isinstance(each, UnitDropped) for each in found)


def test_a_picture_that_no_other_needs_damages_nothing():
    parts = cut([keyframe_h264(300), picture_h264(300, needed=False), *[picture_h264(300)] * 3])
    del parts[1][1]
    found = read(flat(parts))
    assert UnitDropped(DropReason.LOSS) in found
    assert [unit.is_damaged for unit in units(found)] == [False] * 4


def test_before_the_first_keyframe_everything_is_damaged():
    found = read(flat(cut()[1:]))
    assert [unit.is_damaged for unit in units(found)] == [True] * 4 + [False] * 2


def test_a_keyframe_without_known_parameter_sets_is_damaged():
    bare = join([slice_h264(key=True)])
    spec = ReaderSpec(codec=VideoCodec.H264, payload_type=96)
    assert units(read(packets([bare]), spec))[0].is_damaged
    (unit,) = units(read(packets([bare])))
    assert not unit.is_damaged
    assert unit.content == join([SPS_H264, PPS_H264]) + bare


@given(st.randoms(use_true_random=False))
def test_packets_in_disorder_are_put_in_order(random):
    sent = flat(cut())
    shuffled = [sent[0]]
    for start in range(1, len(sent), 4):
        group = sent[start : start + 4]
        random.shuffle(group)
        shuffled += group
    assert [unit.content for unit in units(read(shuffled))] == STREAM


def test_a_packet_that_came_twice_counts_once():
    sent = [packet for packet in flat(cut()) for _ in range(2)]
    assert [unit.content for unit in units(read(sent))] == STREAM


def test_a_sender_that_counts_anew_is_followed():
    later = packets(STREAM * 2, largest=120, first=60_000)
    found = read(later + packets(STREAM * 2, largest=120, first=30_000))
    assert SequenceRestarted() in found
    assert not units(found)[-1].is_damaged


def test_another_sender_begins_anew():
    first = flat(cut())[:-1]
    second = [packet[:8] + b"\0\0\0\x09" + packet[12:] for packet in packets(STREAM, first=9)]
    found = read(first + second)
    assert found[len(STREAM) - 1 :][:2] == [SourceChanged(9), UnitDropped(DropReason.SOURCE)]
    assert [unit.is_damaged for unit in units(found)] == [False] * 13
    after = read(flat(cut()) + second)
    assert not any(isinstance(each, UnitDropped) for each in after)


def test_packets_of_another_type_are_passed_over():
    foreign = [packet[:1] + b"\x62" + packet[2:] for packet in flat(cut())]
    assert read(foreign) == [PayloadTypeChanged(98)]


def test_another_type_is_told_again_after_a_picture():
    first, own, last = cut()[:3]
    foreign = [[packet[:1] + b"\x62" + packet[2:] for packet in part] for part in (first, last)]
    found = read([*foreign[0], *own, *foreign[1]])
    assert [each for each in found if isinstance(each, PayloadTypeChanged)] == [PayloadTypeChanged(98)] * 2


def test_bytes_that_are_no_packet_are_told_of():
    assert read([b"abc"]) == [PacketRefused()]


def test_a_stream_without_markers_is_cut_by_timestamps():
    sent = [packet[:1] + bytes([packet[1] & 0x7F]) + packet[2:] for packet in flat(cut())]
    assert [unit.content for unit in units(read(sent))] == STREAM[:-1]


def test_markers_on_parameter_sets_end_nothing():
    sets = [a_packet(SPS_H264, sequence=0, marker=True), a_packet(PPS_H264, sequence=1, marker=True)]
    (unit,) = units(read([*sets, a_packet(slice_h264(key=True), sequence=2, marker=True)]))
    assert unit.content == keyframe_h264()


def test_parameter_sets_with_a_time_of_their_own_are_learnt():
    sets = [a_packet(SPS_H264, sequence=0), a_packet(PPS_H264, sequence=1)]
    key = a_packet(slice_h264(key=True), sequence=2, timestamp=9, marker=True)
    found = read([*sets, key], ReaderSpec(codec=VideoCodec.H264, payload_type=96))
    assert found[0] == PictureSizeChanged(None, PictureSize(1280, 720))
    assert units(found)[0].content == keyframe_h264()


def test_markers_that_lie_are_not_believed_twice():
    slices = [slice_h264(), slice_h264(first=False)]
    sent = [a_packet(slice_h264(key=True), marker=True)]
    sent.extend(
        a_packet(slices[(number + 1) % 2], sequence=number, timestamp=(number + 1) // 2, marker=True)
        for number in range(1, 9)
    )
    found = read(sent)
    assert found[2:4] == [UnitDropped(DropReason.MARKER), units(found)[2]]
    assert [unit.content for unit in units(found)[2:]] == [join(slices)] * 2


def test_slices_in_any_order_are_the_decoders_business():
    sent = [a_packet(slice_h264(key=True), marker=True)]
    sent.append(a_packet(slice_h264(first=False), sequence=1, timestamp=1, marker=True))
    assert len(units(read(sent))) == 2


@pytest.mark.parametrize("seconds", [6, 3600, -2, -3600])
def test_jumps_of_time_are_told_of(seconds):
    ticks = (seconds * 90_000) & 0xFFFF_FFFF
    sent = [a_packet(slice_h264(), marker=True), a_packet(slice_h264(), sequence=1, timestamp=ticks, marker=True)]
    found = read(sent)
    assert found[1] == TimestampJumped(float(seconds))
    assert units(found)[1].timestamp == seconds * 90_000


def test_timestamps_go_on_past_their_end():
    sent = [
        a_packet(slice_h264(), sequence=n, timestamp=(2**32 - 90_000 + n * 90_000) % 2**32, marker=True)
        for n in range(3)
    ]
    assert [unit.timestamp for unit in units(read(sent))] == [2**32 - 90_000, 2**32, 2**32 + 90_000]


def test_a_change_of_size_is_told_before_the_first_picture_of_it():
    small, large = clip(VideoCodec.H264, frames=2), clip(VideoCodec.H264, frames=2, width=640, height=480)
    found = read(packets(small + large), ReaderSpec(codec=VideoCodec.H264, payload_type=96))
    assert found[3] == PictureSizeChanged(PictureSize(320, 240), PictureSize(640, 480))
    assert RtpReader(SPEC).size == PictureSize(1280, 720)


def test_a_picture_without_end_is_dropped():
    spec = ReaderSpec(codec=VideoCodec.H264, payload_type=96, largest_unit=1000)
    reader = RtpReader(spec)
    found: list[Found] = []
    for packet in packets([picture_h264(50_000), picture_h264(100)], largest=100):
        found += reader.receive(memoryview(packet))
        assert reader.buffered <= 1100
    assert found[0] == UnitDropped(DropReason.TOO_LARGE)
    assert len(units(found)) == 1


def test_a_unit_prints_short():
    assert repr(units(read(flat(cut())))[0]) == "AccessUnit(350 bytes at 0, key=True)"


@given(st.lists(st.binary(max_size=80), max_size=30), st.sampled_from(VideoCodec))
def test_no_packet_raises(payloads, codec):
    spec = ReaderSpec(codec=codec, payload_type=96, window=3, largest_unit=500)
    reader = RtpReader(spec)
    for number, payload in enumerate(payloads):
        marker, sequence = number % 3 == 0, (number * 7) % 11
        for content in (payload, a_packet(payload, sequence=sequence, timestamp=number // 4, marker=marker)):
            reader.receive(memoryview(content))
            assert reader.buffered <= 1000


RECOVERY_POINT, EXACT_POINT = b"\x06\x06\x01\x24\x80", b"\x06\x06\x01\xc4\x80"
INTRA, PREDICTED = b"\x41\x88" + b"\xaa" * 40, b"\x41\x9a" + b"\xaa" * 40


@pytest.mark.parametrize(
    ("nals", "is_keyframe", "is_recovery_point"),
    [
        ([EXACT_POINT, INTRA], True, False),
        ([SPS_H264, PPS_H264, INTRA], True, False),
        ([RECOVERY_POINT, INTRA], False, True),
        ([RECOVERY_POINT, PREDICTED], False, True),
        ([EXACT_POINT, PREDICTED], False, True),
        ([INTRA], False, True),
    ],
)
def test_a_stream_without_idr_pictures_begins_where_a_decoder_can(nals, is_keyframe, is_recovery_point):
    entry = join(nals)
    found = units(read(packets([join([PREDICTED]), entry, join([PREDICTED])])))
    assert [unit.is_damaged for unit in found] == [True, False, False]
    assert (found[1].is_keyframe, found[1].is_recovery_point) == (is_keyframe, is_recovery_point)
    assert found[1].content == (b"" if SPS_H264 in nals else join([SPS_H264, PPS_H264])) + entry


def test_an_intra_picture_is_no_recovery_point_where_none_is_needed():
    found = units(read(packets([keyframe_h264(), join([INTRA]), join([RECOVERY_POINT, PREDICTED])])))
    assert [unit.is_recovery_point for unit in found] == [False, False, True]
    assert [unit.is_keyframe for unit in found] == [True, False, False]


def test_without_parameter_sets_no_stream_begins():
    spec = ReaderSpec(codec=VideoCodec.H264, payload_type=96)
    assert [unit.is_damaged for unit in units(read(packets([join([EXACT_POINT, INTRA])] * 2), spec))] == [True, True]


def test_recovery_points_of_h265_are_not_read():
    spec = ReaderSpec(codec=VideoCodec.H265, payload_type=96)
    [found] = units(read([a_packet(b"\x02\x01\x88" + b"\xaa" * 40, marker=True)], spec))
    assert (found.is_damaged, found.is_recovery_point) == (True, False)
