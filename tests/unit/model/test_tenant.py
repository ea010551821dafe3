"""Which ids somebody may choose, and how far the deletion of a tenant is."""

import pytest

from streamward.model.ids import MalformedId, TenantId, check_id
from streamward.model.tenant import (
    DeletionStage,
    IdOutsideTenant,
    TenantDeletion,
    check_own,
    is_tenant_key,
    overlap,
    tenant_key,
    tenants_named_by,
)
from tests.support.builders import at

NORTH = TenantId("north")


@pytest.mark.parametrize("chosen", ["north-1", "north-", "north-east-1"])
def test_somebody_of_one_tenant_chooses_ids_that_no_other_has(chosen):
    assert check_own(chosen, scope=NORTH) == chosen


@pytest.mark.parametrize("chosen", ["cam-1", "north", "northern-1", "south-1", "3f2b8c1e-5a4d-4c3b-9a2e-1f0e9d8c7b6a"])
def test_any_other_id_is_refused_whether_it_is_taken_or_not(chosen):
    with pytest.raises(IdOutsideTenant, match="begin with north-"):
        check_own(chosen, scope=NORTH)


def test_somebody_of_the_whole_installation_chooses_freely():
    assert check_own("cam-1", scope=None) == "cam-1"


@pytest.mark.parametrize(("other", "expected"), [("north-east", True), ("north", False), ("northern", False)])
def test_tenants_overlap_if_one_could_choose_the_ids_of_the_other(other, expected):
    assert overlap(NORTH, TenantId(other)) is expected
    assert overlap(TenantId(other), NORTH) is expected


@pytest.mark.parametrize(
    ("chosen", "tenants"),
    [("north-east-1", ["north", "north-east"]), ("north", []), ("-1", []), ("north-", ["north"])],
)
def test_an_id_names_each_tenant_that_could_choose_it(chosen, tenants):
    assert tenants_named_by(chosen) == tenants


def test_no_tenant_can_be_called_like_an_internal_id():
    key = tenant_key("0123")
    assert (is_tenant_key(key), is_tenant_key("0123"), is_tenant_key(None)) == (True, False, False)
    with pytest.raises(MalformedId):
        check_id("tenant_id", key)


@pytest.mark.parametrize(
    ("done", "stage"),
    [
        ({}, DeletionStage.ROWS),
        ({"rows_deleted_at": at(1)}, DeletionStage.PAYLOADS),
        ({"rows_deleted_at": at(1), "payloads_deleted_at": at(2)}, DeletionStage.NAME),
        ({"rows_deleted_at": at(1), "payloads_deleted_at": at(2), "finished_at": at(3)}, DeletionStage.GONE),
    ],
)
def test_a_deletion_goes_from_stage_to_stage(done, stage):
    deletion = TenantDeletion(
        tenant_key="~1", tenant_id=NORTH, requested_at=at(0), tokens_after=at(5), removed={}, **done
    )
    assert deletion.stage is stage
