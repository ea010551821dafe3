"""What becomes of a packet on a drill's link."""

from random import Random

import pytest

from streamward.drills.network.link import FAIR, Weather, due


def test_in_fair_weather_it_arrives_at_once():
    assert due(FAIR, Random(1), 7.0) == 7.0


def test_half_of_the_delay_is_on_each_way():
    assert due(Weather(delay=0.3), Random(1), 7.0) == pytest.approx(7.15)


def test_nothing_passes_a_cut():
    assert due(Weather(delay=0.3, is_cut=True), Random(1), 7.0) is None


def test_about_the_share_is_lost_that_was_asked_for():
    dice = Random(1)
    lost = sum(due(Weather(loss=0.1), dice, 0.0) is None for _ in range(10_000))
    assert 900 < lost < 1_100
