"""Until when something may have been made: by the answer that led the most, and by what Workers told."""

from datetime import timedelta

from streamward.leases.held import Held
from streamward.leases.moments import NEVER
from streamward.model.ids import Generation
from tests.support.builders import START


def told(*, generation: int = 1, asked: float = 10.0, later: float = 0.0) -> Held:
    """An answer to an ask at that boot-time, whose database was so much ahead."""
    return Held(
        generation=Generation(generation),
        deadline=asked + 7,
        told_at=START + timedelta(seconds=asked + later),
        asked=asked,
        since=asked,
    )


def test_without_an_answer_nothing_was_made():
    assert (NEVER.latest(5.0), NEVER.made_until) == (None, None)


def test_the_answer_that_led_the_most_counts():
    moments = NEVER.heard(told(later=0.5)).heard(told(asked=12.0)).heard(told(asked=14.0, later=0.2))
    assert moments.latest(20.0) == START + timedelta(seconds=20.5)


def test_another_generation_begins_anew():
    moments = NEVER.heard(told(later=0.5)).made(START).heard(told(generation=2))
    assert (moments.generation, moments.made_until) == (2, None)
    assert moments.latest(20.0) == START + timedelta(seconds=20)


def test_of_several_last_words_the_latest_counts():
    later = START + timedelta(seconds=3)
    assert NEVER.heard(told()).made(START).made(later).made(START).made_until == later
