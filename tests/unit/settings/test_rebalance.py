"""Automatic rebalancing: off unless somebody wants it, and never faster than a round by hand."""

from pathlib import Path

import pytest

from streamward.settings import SettingsRefused, load

NOWHERE = Path("no-such-file")


def test_it_is_off_by_default():
    assert load({}, file=NOWHERE).rebalance.every_s == 0


def test_how_often_and_how_many_can_be_set():
    told = {"STREAMWARD_REBALANCE_EVERY_S": "300", "STREAMWARD_REBALANCE_CAMERAS": "1"}
    rebalance = load(told, file=NOWHERE).rebalance
    assert (rebalance.every_s, rebalance.cameras) == (300, 1)


@pytest.mark.parametrize(
    ("name", "value"), [("EVERY_S", "-1"), ("EVERY_S", "often"), ("CAMERAS", "0"), ("CAMERAS", "21")]
)
def test_a_value_that_makes_no_sense_is_refused_by_name(name: str, value: str):
    with pytest.raises(SettingsRefused, match=f"STREAMWARD_REBALANCE_{name}"):
        load({f"STREAMWARD_REBALANCE_{name}": value}, file=NOWHERE)
