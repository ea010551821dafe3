"""When to take in nothing more."""

import pytest

from streamward.insight.pressure import Pressure, judge


@pytest.mark.parametrize(
    ("used", "whole", "level"),
    [
        (0, 100, Pressure.NORMAL),
        (94.9, 100, Pressure.NORMAL),
        (95, 100, Pressure.CRITICAL),
        (100, 100, Pressure.CRITICAL),
        (0, 0, Pressure.NORMAL),
    ],
)
def test_pressure_is_critical_when_little_is_left(used, whole, level):
    assert judge(used, whole) is level


def test_the_share_can_be_another():
    assert judge(80, 100, critical=0.8) is Pressure.CRITICAL
