"""A tenant's wishes beside the installation's rules."""

import pytest

from streamward.insight.batch import Limits
from streamward.insight.rules import DAY, Rules, Wishes
from streamward.insight.urgency import Trigger, Triggers

SURE = Trigger(confidence=0.9, labels=frozenset({"person"}))
OFF = Trigger(confidence=1.0, labels=frozenset())
OURS = Rules(limits=Limits(window=60.0, idle=20.0, most=50), triggers=Triggers(alert=SURE), detections_kept=7 * DAY)


def test_who_wishes_nothing_has_what_the_installation_has():
    assert Wishes().applied(OURS) == OURS


@pytest.mark.parametrize(
    ("wishes", "rules"),
    [
        (Wishes(window=10.0, most=5), Rules(limits=Limits(window=10.0, idle=20.0, most=5))),
        (Wishes(idle=5.0, detections_kept=DAY), Rules(limits=Limits(window=60.0, idle=5.0, most=50))),
    ],
)
def test_each_wish_counts_by_itself(wishes, rules):
    applied = wishes.applied(OURS)
    assert applied.limits == rules.limits
    assert applied.triggers == OURS.triggers
    assert applied.detections_kept == (wishes.detections_kept or OURS.detections_kept)


def test_a_tenant_can_turn_off_what_the_installation_has_on():
    triggers = Wishes(alert=OFF, analyse=SURE).applied(OURS).triggers
    assert not triggers.judge("person", 1.0, is_late=False).alert
    assert triggers.analyse == SURE
