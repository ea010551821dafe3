"""What cannot wait, at its edges."""

import pytest

from streamward.insight.urgency import Trigger, Triggers, Urgency

SURE = Trigger(confidence=0.9, labels=frozenset({"person"}))


@pytest.mark.parametrize(
    ("label", "confidence", "expected"),
    [
        ("person", 0.9, True),
        ("person", 0.9 - 1e-9, False),
        ("person", 0.9 + 1e-9, True),
        ("cat", 1.0, False),
        ("Person", 1.0, True),
    ],
)
def test_it_fires_for_what_is_listed_and_sure_enough(label, confidence, expected):
    assert SURE.fires(label, confidence) is expected


def test_labels_are_compared_without_case_and_shown_as_they_were_set():
    trigger = Trigger(confidence=0.5, labels=frozenset({"Person", "STRASSE"}))
    assert trigger.fires("person", 0.5)
    assert trigger.fires("Straße", 0.5)
    assert trigger.labels == {"Person", "STRASSE"}


def test_nothing_is_urgent_until_a_tenant_says_so():
    assert Triggers().judge("person", 1.0, is_late=False) == Urgency()


def test_telling_and_analysing_are_two_questions():
    assert Triggers(alert=SURE).judge("person", 1.0, is_late=False) == Urgency(alert=True)
    assert Triggers(analyse=SURE).judge("person", 1.0, is_late=False) == Urgency(analyse=True)


def test_what_is_late_is_never_urgent():
    assert Triggers(alert=SURE, analyse=SURE).judge("person", 1.0, is_late=True) == Urgency()
