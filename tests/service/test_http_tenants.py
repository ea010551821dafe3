"""Tenants through the HTTP application."""

import pytest

from streamward.model.identity import Role
from tests.support.app import ControlUnderTest


@pytest.mark.parametrize(("tenant_id", "status"), [("t", 409), ("t-01-east", 409), ("t-011", 201), ("t-01x-1", 201)])
async def test_no_tenant_is_added_whose_people_could_choose_the_ids_of_another(tenant_id: str, status: int) -> None:
    control = await ControlUnderTest().with_cameras("cam-1")
    answer = await control.person(Role.ADMIN).post("/v1/tenants", {"tenant_id": tenant_id})
    assert answer.status_code == status
    assert answer.json().get("reason") in (None, "tenant-overlaps")
