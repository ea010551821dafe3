"""Detections, batches and analyses as people read them, and what tenants want of batching."""

from dataclasses import replace
from typing import Any

import pytest

from streamward.insight.batch import BatchId
from streamward.insight.rules import DAY, Rules, Wishes
from streamward.insight.urgency import Trigger
from streamward.model.identity import Role
from streamward.model.ids import TenantId
from tests.support.app import ControlUnderTest
from tests.support.two_tenants import OURS, THEIRS, TwoTenants

PERSON = {"confidence": 0.8, "object_types": ["car", "person"]}
BATCHING = f"/v1/tenants/{OURS}/batching"


@pytest.fixture
async def tenants() -> TwoTenants:
    return await TwoTenants().settle()


async def test_a_batch_is_told_with_its_detections_and_what_was_said_of_it(tenants: TwoTenants):
    viewer = tenants.person(Role.VIEWER, OURS).client
    told = (await viewer.get("/v1/batches/batch-t-01")).json()
    (seen,) = told["detections"]
    assert told["batch"]["detection_ids"] == [seen["detection_id"]]
    assert (seen["label"], seen["batch_id"], seen["late"]) == ("person", "batch-t-01", False)
    assert (seen["track_id"], seen["zones"]) == (None, [])
    assert told["analysis"]["summary"] == "1 × person on t-01-cam within 0 s"
    assert told["batch"] == (await viewer.get("/v1/batches")).json()["items"][0]
    assert seen == (await viewer.get("/v1/detections")).json()["items"][0]
    assert told["analysis"] == (await viewer.get("/v1/analyses")).json()["items"][0]


async def test_the_short_id_of_messages_is_enough_if_it_is_unique_for_the_caller(tenants: TwoTenants):
    whole = f"batch-1a2b3c4d{'0' * 24}"
    stored = tenants.control.database.batches
    for tenant, name in ((OURS, whole), (THEIRS, f"batch-1a2b3c4d{'f' * 24}")):
        record = stored.pop(BatchId(f"batch-{tenant}"))
        stored[BatchId(name)] = replace(record, batch=replace(record.batch, batch_id=BatchId(name)))
    viewer, everyone = tenants.person(Role.VIEWER, OURS).client, tenants.person(Role.VIEWER, None).client
    for name in ("batch-1a2b3c4d", "batch-1a2b", whole):
        assert (await viewer.get(f"/v1/batches/{name}")).json()["batch"]["batch_id"] == whole
    refused = await everyone.get("/v1/batches/batch-1a2b3c4d")
    assert (refused.status_code, refused.json()["reason"]) == (409, "batch-ambiguous")
    assert (await everyone.get(f"/v1/batches/{whole}")).status_code == 200
    for name in ("batch-1a2b3c4e", "batch-1", "batch-1A2B"):
        assert (await viewer.get(f"/v1/batches/{name}")).status_code == 404


@pytest.mark.parametrize("listing", ["batches", "detections", "zone-events", "analyses"])
async def test_a_listing_is_read_page_by_page_newest_first(tenants: TwoTenants, listing: str):
    everyone = tenants.person(Role.VIEWER, None).client
    first = (await everyone.get(f"/v1/{listing}", limit=1)).json()
    second = (await everyone.get(f"/v1/{listing}", limit=1, cursor=first["next_cursor"])).json()
    assert [page["items"][0]["tenant_id"] for page in (first, second)] == [THEIRS, OURS]
    assert second["next_cursor"] is None


@pytest.mark.parametrize("listing", ["batches", "detections", "zone-events", "analyses"])
async def test_a_listing_can_be_of_one_camera_and_shows_no_other_tenant(tenants: TwoTenants, listing: str):
    everyone, ours = tenants.person(Role.VIEWER, None).client, tenants.person(Role.VIEWER, OURS).client
    found = (await everyone.get(f"/v1/{listing}", camera_uuid="t-02-cam")).json()["items"]
    assert [each["camera_uuid"] for each in found] == ["t-02-cam"]
    assert (await ours.get(f"/v1/{listing}", camera_uuid="t-02-cam")).json()["items"] == []
    assert [each["tenant_id"] for each in (await ours.get(f"/v1/{listing}")).json()["items"]] == [OURS]


async def test_what_happened_at_zones_is_told_whole(tenants: TwoTenants):
    viewer = tenants.person(Role.VIEWER, OURS).client
    (told,) = (await viewer.get("/v1/zone-events")).json()["items"]
    assert (told["camera_uuid"], told["zone"], told["type"], told["late"]) == ("t-01-cam", "door", "enter", False)
    assert (told["label"], told["track_id"], told["stayed_s"], told["index"]) == ("person", 7, 0.0, 0)


async def with_tenant() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras("cam-1", tenant=OURS)


async def change(control: ControlUnderTest, body: dict[str, Any], if_match: str = "*") -> Any:
    return await control.person(Role.ADMIN, tenant=OURS).patch(BATCHING, body, if_match=if_match)


async def test_a_tenant_has_the_installations_rules_until_it_wants_others():
    control = await with_tenant()
    told = (await control.person(Role.VIEWER, tenant=OURS).get(BATCHING)).json()
    assert told == {
        "tenant_id": OURS,
        "window_s": 90.0,
        "idle_timeout_s": 30.0,
        "max_detections": 500,
        "fast_path": None,
        "alert": None,
        "kept_days": 30.0,
        "own": [],
    }


async def test_what_a_tenant_wants_holds_and_the_rest_stays():
    control = await with_tenant()
    changed = (await change(control, {"window_s": 60, "fast_path": PERSON, "kept_days": 2})).json()
    assert (changed["window_s"], changed["idle_timeout_s"], changed["fast_path"]) == (60.0, 30.0, PERSON)
    assert changed["own"] == ["window_s", "fast_path", "kept_days"]
    trigger = Trigger(confidence=0.8, labels=frozenset({"person", "car"}))
    wishes = Wishes(window=60.0, analyse=trigger, detections_kept=2 * DAY)
    assert await control.insight.rules.rules() == {TenantId(OURS): wishes.applied(Rules())}


async def test_null_takes_a_wish_back():
    control = await with_tenant()
    await change(control, {"window_s": 60, "max_detections": 7})
    assert (await change(control, {"window_s": None})).json()["own"] == ["max_detections"]


@pytest.mark.parametrize(
    "body", [{"window_s": 0}, {"idle_timeout_s": 91}, {"max_detections": 0}, {"fast_path": {"confidence": 2}}]
)
async def test_what_cannot_hold_is_refused(body: dict[str, Any]):
    control = await with_tenant()
    assert (await change(control, body)).status_code == 422
    assert await control.insight.rules.find_wishes(TenantId(OURS), scope=None) == Wishes()


async def test_only_the_state_that_was_read_is_changed_and_the_audit_knows_by_whom():
    control = await with_tenant()
    etag = (await control.person(Role.VIEWER, tenant=OURS).get(BATCHING)).headers["etag"]
    assert (await change(control, {"window_s": 60}, etag)).status_code == 200
    assert (await change(control, {"window_s": 50}, etag)).status_code == 412
    rows = (await control.operator().get("/v1/audit", action="batching.updated")).json()["items"]
    assert [(row["subject"], row["object_id"], row["before"], row["after"]) for row in rows] == [
        ("ada", OURS, {}, {"window_s": 60.0})
    ]


async def test_what_changes_nothing_is_not_written_down():
    control = await with_tenant()
    await change(control, {})
    assert (await control.operator().get("/v1/audit", action="batching.updated")).json()["items"] == []
