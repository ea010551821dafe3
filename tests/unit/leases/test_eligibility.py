"""Whether a runner may have a camera at all."""

from dataclasses import replace

import pytest

from streamward.leases.eligibility import mismatch, refusal, unfit
from streamward.leases.lease import DenialReason, Denied
from streamward.model.ids import SiteId, TenantId
from streamward.model.runner import DrainMode
from tests.support.builders import SITE, TENANT, a_camera, a_runner, an_owner


def test_only_the_newest_incarnation_of_a_known_runner_may_touch_leases():
    ended = Denied(DenialReason.INCARNATION_ENDED)
    assert refusal(a_runner(), an_owner()) is None
    assert refusal(a_runner(), an_owner(incarnation="inc-0")) == ended
    assert refusal(replace(a_runner(), incarnation=None), an_owner()) == ended
    assert refusal(None, an_owner()) == ended


@pytest.mark.parametrize(
    ("tenant", "site", "enabled", "denied"),
    [
        (None, None, True, None),
        (TENANT, SITE, True, None),
        (TenantId("other"), SITE, False, DenialReason.CAMERA_UNKNOWN),
        (TENANT, SiteId("other"), False, DenialReason.CAMERA_NOT_WANTED),
        (TENANT, SiteId("other"), True, DenialReason.SITE_MISMATCH),
    ],
)
def test_a_camera_is_for_runners_of_its_tenant_and_site_if_it_is_wanted(tenant, site, enabled, denied):
    runner = replace(a_runner(), tenant_id=tenant, site_id=site)
    assert mismatch(runner, a_camera(enabled=enabled)) == (denied and Denied(denied))


def test_a_runner_takes_nothing_new_when_told_so_or_full():
    assert unfit(a_runner(), slots_used=39) is None
    assert unfit(a_runner(), slots_used=40) == Denied(DenialReason.NO_CAPACITY)
    assert unfit(a_runner(drain=DrainMode.SOFT), slots_used=40) == Denied(DenialReason.RUNNER_CORDONED)
