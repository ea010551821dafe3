"""NAL units in Annex B form."""

from hypothesis import given
from hypothesis import strategies as st

from streamward.protocol.rtp.nal import (
    LARGEST_PARAMETER_SET,
    MOST_PARAMETER_SETS,
    PARAMETER,
    PICTURE,
    UnitBuffer,
    join,
    split,
)

_nal = st.binary(min_size=1, max_size=50).map(lambda text: text.replace(b"\0", b"\1"))


@given(st.lists(_nal, max_size=5))
def test_joined_units_are_split_again(nals):
    assert [bytes(nal) for nal in split(join(nals))] == nals


def test_short_and_long_start_codes_and_noise_in_front_are_understood():
    assert [bytes(nal) for nal in split(b"xx\0\0\1a\0\0\0\1b\0\0\0\0\1\0\0\1c\0\0")] == [b"a", b"b", b"c"]
    assert list(split(b"no start code")) == []


@given(st.binary(max_size=100))
def test_any_bytes_can_be_split(content):
    assert sum(len(nal) for nal in split(content)) <= len(content)


def test_the_parameter_sets_of_a_unit_are_bounded():
    unit = UnitBuffer()
    for size in (LARGEST_PARAMETER_SET + 1, *[3] * (2 * MOST_PARAMETER_SETS)):
        unit.add(memoryview(bytes(size)), PARAMETER, is_first_slice=False)
    assert [len(nal) for nal in unit.parameters] == [3] * MOST_PARAMETER_SETS


def test_a_unit_collects_its_parameter_sets():
    unit = UnitBuffer()
    assert not unit.go_on(memoryview(b"x"))
    unit.add(memoryview(b"gab"), PARAMETER, is_first_slice=False)
    unit.begin(b"h", PARAMETER, is_first_slice=False)
    assert unit.go_on(memoryview(b"cd"))
    unit.begin(b"e", PICTURE, is_first_slice=True)
    unit.finish()
    unit.finish()
    unit.add(memoryview(b"f"), PICTURE, is_first_slice=False)
    assert unit.parameters == [b"gab", b"hcd"]
    assert unit.content == join([b"gab", b"hcd", b"e", b"f"])
    assert unit.starts_picture
    assert unit.kinds == PARAMETER | PICTURE
