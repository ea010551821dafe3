"""Failpoints: silent unless armed, once each, and never by a name that nobody declares."""

from collections.abc import Iterator

import pytest

from streamward.runtime import failpoints
from streamward.runtime.failpoints import (
    Act,
    Deed,
    FailpointReached,
    MalformedFailpoint,
    UnknownFailpoint,
    arm,
    declare,
    declared,
    parse,
    reach,
)

POINT = declare("test.point")
OTHER = declare("test.other")


@pytest.fixture(autouse=True)
def disarmed() -> Iterator[None]:
    yield
    failpoints.disarm()


def test_a_point_that_is_not_armed_does_nothing():
    reach(POINT)
    arm({OTHER: Deed(Act.RAISE)})
    reach(POINT)
    with pytest.raises(FailpointReached):  # it is still armed
        reach(OTHER)


def test_an_armed_point_acts_once():
    arm({POINT: Deed(Act.RAISE)})
    with pytest.raises(FailpointReached, match=r"failpoint test\.point"):
        reach(POINT)
    reach(POINT)


def test_an_armed_point_acts_the_time_it_is_armed_for():
    arm({POINT: Deed(Act.RAISE, time=3)})
    reach(POINT)
    reach(POINT)
    with pytest.raises(FailpointReached):
        reach(POINT)
    reach(POINT)


def test_a_pause_of_no_time_goes_on():
    arm({POINT: Deed(Act.PAUSE, 0.0), OTHER: Deed(Act.RAISE)})
    reach(POINT)
    with pytest.raises(FailpointReached):
        reach(OTHER)


def test_arming_replaces_what_was_armed_before():
    arm({POINT: Deed(Act.RAISE)})
    arm({OTHER: Deed(Act.RAISE)})
    reach(POINT)
    with pytest.raises(FailpointReached):
        reach(OTHER)


def test_an_unknown_name_is_refused_and_arms_nothing():
    with pytest.raises(UnknownFailpoint, match=r"there is no failpoint 'test\.nowhere'; there are: .*test\.point"):
        arm({POINT: Deed(Act.RAISE), "test.nowhere": Deed(Act.EXIT)})
    reach(POINT)


def test_every_declared_point_is_listed():
    assert {POINT, OTHER} <= set(declared())


def test_the_setting_is_a_list_of_names_and_deeds():
    assert parse("") == {}
    assert parse(" test.point=exit, test.other=pause:2.5,x=raise@7,y=pause:1@2,") == {
        "test.point": Deed(Act.EXIT),
        "test.other": Deed(Act.PAUSE, 2.5),
        "x": Deed(Act.RAISE, time=7),
        "y": Deed(Act.PAUSE, 1.0, 2),
    }


@pytest.mark.parametrize(
    "text", ["x", "x=", "=exit", "x=sleep", "x=pause", "x=pause:", "x=pause:-1", "x=exit:1", "x=exit@0", "x=exit@"]
)
def test_a_setting_that_cannot_be_read_is_refused(text):
    with pytest.raises(MalformedFailpoint, match="is not <name>=exit"):
        parse(text)
