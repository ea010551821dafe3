"""Which ids somebody may choose."""

import pytest

from streamward.model.ids import TenantId
from streamward.model.tenant import IdOutsideTenant, check_own, overlap

NORTH = TenantId("north")


@pytest.mark.parametrize("chosen", ["north-1", "north-", "3f2b8c1e-5a4d-4c3b-9a2e-1f0e9d8c7b6a"])
def test_somebody_of_one_tenant_chooses_ids_that_no_other_has(chosen):
    assert check_own(chosen, scope=NORTH) == chosen


@pytest.mark.parametrize("chosen", ["cam-1", "north", "northern-1", "south-1"])
def test_any_other_id_is_refused_whether_it_is_taken_or_not(chosen):
    with pytest.raises(IdOutsideTenant, match="begin with north-"):
        check_own(chosen, scope=NORTH)


def test_somebody_of_the_whole_installation_chooses_freely():
    assert check_own("cam-1", scope=None) == "cam-1"


@pytest.mark.parametrize(("other", "expected"), [("north-east", True), ("north", False), ("northern", False)])
def test_tenants_overlap_if_one_could_choose_the_ids_of_the_other(other, expected):
    assert overlap(NORTH, TenantId(other)) is expected
    assert overlap(TenantId(other), NORTH) is expected
