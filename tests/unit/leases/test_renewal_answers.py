"""Which answers to renewals count, and when they are too late."""

import pytest

from streamward.leases.renewal_answers import RenewalAnswers
from tests.support.builders import at

TRUSTED = 6.7
EVERY = 2.0


def answers() -> RenewalAnswers:
    begun = RenewalAnswers(EVERY)
    begun.begin(0.0)
    return begun


def test_a_grant_is_echoed_until_the_first_answer_to_a_renewal():
    begun = answers()
    assert begun.echo is None
    begun.begin(1.0, granted_at=at(1))
    begun.begin(2.0, granted_at=at(2))
    assert begun.echo == at(1)
    assert begun.receive(at(0.5), sent=1.5, now=2.0), "sent after the grant arrived: newer whatever the clock shows"
    assert begun.echo == at(0.5)


def test_an_answer_that_was_overtaken_is_older_and_is_not_echoed():
    begun = answers()
    assert begun.receive(at(5), sent=4.0, now=6.0)
    assert not begun.receive(at(4), sent=3.0, now=6.5)
    assert begun.echo == at(5)
    assert begun.receive(at(5.5), sent=3.5, now=6.6), "handled later, though it was sent before"


def test_an_answer_to_what_was_sent_after_another_arrived_is_newer_after_the_clock_was_set_back():
    begun = answers()
    begun.receive(at(5), sent=4.0, now=6.0)
    assert begun.receive(at(-3600), sent=6.0, now=6.1)
    assert begun.echo == at(-3600)


def test_one_late_answer_is_forgiven_and_so_are_those_that_were_outstanding_with_it():
    begun = answers()
    assert not begun.judge(sent=0.0, now=5.0, trusted=TRUSTED)
    assert not begun.judge(sent=2.0, now=7.0, trusted=TRUSTED)
    assert not begun.judge(sent=6.0, now=6.1, trusted=TRUSTED)
    assert not begun.judge(sent=8.0, now=13.0, trusted=TRUSTED)
    assert begun.delay is None


def test_two_late_answers_in_a_row_mean_that_the_owner_must_release():
    begun = answers()
    begun.judge(sent=0.0, now=5.0, trusted=TRUSTED)
    assert begun.judge(sent=5.0, now=10.0, trusted=TRUSTED)
    assert begun.delay == 5.0
    assert not begun.may_claim(10.0)
    assert begun.judge(sent=6.0, now=12.0, trusted=TRUSTED), "for as long as it lasts"
    assert begun.delay == 6.0


@pytest.mark.parametrize(("delay", "fits"), [(4.2, True), (4.3, False)])
def test_answers_fit_again_when_they_leave_room_for_a_pause(delay, fits):
    begun = answers()
    begun.judge(sent=0.0, now=5.0, trusted=TRUSTED)
    begun.judge(sent=5.0, now=10.0, trusted=TRUSTED)
    assert not begun.judge(sent=10.0, now=10.0 + delay, trusted=TRUSTED)
    assert (begun.delay is None) is fits


@pytest.mark.parametrize(("silent_for", "may"), [(5.0, True), (5.1, False)])
def test_who_received_nothing_for_two_renewals_and_a_second_claims_nothing(silent_for, may):
    begun = answers()
    begun.receive(at(1), sent=1.0, now=1.5)
    assert begun.may_claim(1.5 + silent_for) is may
