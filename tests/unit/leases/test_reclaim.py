"""When a silent owner loses its camera for good."""

import pytest

from streamward.leases.reclaim import Reclaim, plan
from streamward.model.ids import Generation
from tests.support.builders import CAMERA, SITE, a_load, an_orphan, at

HARD = Reclaim(camera_id=CAMERA, generation=Generation(1), hard=True)
SOFT = Reclaim(camera_id=CAMERA, generation=Generation(1), hard=False)


@pytest.mark.parametrize(("now", "reclaims"), [(at(0), []), (at(599.9), []), (at(600), [HARD]), (at(1e5), [HARD])])
def test_without_pressure_the_owner_has_its_whole_soft_window_to_come_back(now, reclaims):
    orphan = an_orphan(expires_at=at(0), soft_for=600.0)
    assert plan([orphan], {SITE: a_load(unowned=1, free_slots=1, now=now)}) == reclaims


def test_under_pressure_the_camera_moves_at_once():
    orphan = an_orphan(expires_at=at(0), soft_for=600.0)
    assert plan([orphan], {SITE: a_load(unowned=2, free_slots=1, now=at(1))}) == [SOFT]


def test_each_orphan_is_judged_by_itself_and_the_order_is_kept():
    orphans = [
        an_orphan("old", expires_at=at(0), soft_for=60.0),
        an_orphan("new", expires_at=at(50), soft_for=60.0),
        an_orphan("older", expires_at=at(-9), soft_for=60.0),
    ]
    planned = plan(orphans, {SITE: a_load(unowned=3, free_slots=9, now=at(60))})
    assert [(action.camera_id, action.hard) for action in planned] == [("old", True), ("older", True)]


def test_nothing_to_do_without_orphans():
    assert plan([], {}) == []
