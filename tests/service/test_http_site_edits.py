"""Sites as operators describe them, through the HTTP application."""

from typing import Any

import pytest

from streamward.model.address_policy import DEFAULT_LIMITS, AddressPolicy, parse_network
from streamward.model.camera import Site
from streamward.model.identity import Role
from streamward.model.ids import SiteId, TenantId
from streamward.model.source_url import NETWORK, SourceKind
from tests.support.app import ControlUnderTest

RULES = {"allow": ["10.20.0.0/16", "127.0.0.1/32"], "deny": ["10.20.1.1/32"], "kinds": ["file"]}


LIMITS = AddressPolicy(
    allow=tuple(map(parse_network, ("0.0.0.0/0", "::/0", "127.0.0.0/8"))),
    deny=(parse_network("10.66.0.0/16"),),
    kinds=DEFAULT_LIMITS.kinds | {SourceKind.FILE},
)


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest(limits=LIMITS).with_cameras("cam-1")
    return await control.with_cameras("cam-2", site="site-b", tenant="t-02")


def a_site(**fields: Any) -> dict[str, Any]:
    return {"site_id": "new", "tenant_id": "t-01", "policy": "sticky", "sources": RULES} | fields


async def test_a_site_is_created_and_told(control: ControlUnderTest) -> None:
    answer = await control.operator().post("/v1/sites", a_site())
    assert answer.status_code == 201
    expected = {
        "site_id": "new",
        "tenant_id": "t-01",
        "policy": "sticky",
        "capacity": 10,
        "refill_rate": 120.0,
        "sources": RULES,
        "limits": {"allow": ["0.0.0.0/0", "::/0", "127.0.0.0/8"], "deny": ["10.66.0.0/16"], "kinds": ["file", "null"]},
        "updated_at": "2026-01-01T12:00:00Z",
    }
    assert answer.json() == expected
    read = await control.operator(tenant="t-01").get("/v1/sites/new")
    assert (read.json(), read.headers["etag"]) == (expected, answer.headers["etag"])


async def test_the_tenant_comes_from_the_token_if_it_names_one(control: ControlUnderTest) -> None:
    own = await control.operator(tenant="t-02").post("/v1/sites", a_site(site_id="t-02-new", tenant_id=None))
    assert own.json()["tenant_id"] == "t-02"
    differs, needed = (control.operator(tenant="t-02"), "t-01"), (control.operator(), None)
    for (client, tenant), reason in ((differs, "tenant-differs"), (needed, "tenant-needed")):
        refused = await client.post("/v1/sites", a_site(site_id="other", tenant_id=tenant))
        assert (refused.status_code, refused.json()["reason"]) == (422, reason)


async def test_an_id_that_begins_with_a_tenant_s_is_for_that_tenant_only(control: ControlUnderTest) -> None:
    for client in (control.operator(tenant="t-01"), control.operator()):
        foreign = await client.post("/v1/sites", a_site(site_id="t-02-yard", tenant_id="t-01"))
        assert (foreign.status_code, foreign.json()["reason"]) in {
            (422, "id-outside-tenant"),
            (422, "id-of-another-tenant"),
        }
    uuid = "0f8fad5b-d9cb-469f-a165-70867728950e"
    assert (await control.operator().post("/v1/sites", a_site(site_id=uuid))).status_code == 201
    for chosen in (uuid, uuid.replace("0", "1")):
        answer = await control.operator(tenant="t-02").post("/v1/sites", a_site(site_id=chosen, tenant_id="t-02"))
        assert (answer.status_code, answer.json()["reason"]) == (422, "id-outside-tenant")
    later = await control.person(Role.ADMIN).post("/v1/tenants", {"tenant_id": "site"})
    assert (later.status_code, later.json()["reason"]) == (409, "tenant-overlaps")


async def test_a_taken_id_is_a_conflict(control: ControlUnderTest) -> None:
    answer = await control.operator().post("/v1/sites", a_site(site_id="site-a"))
    assert (answer.status_code, answer.json()["reason"]) == (409, "site-exists")


@pytest.mark.parametrize("network", ["10.0.0.1/8", "host", "", "127.1"])
async def test_what_is_no_network_is_refused(control: ControlUnderTest, network: str) -> None:
    for rules in ({"allow": [network]}, {"deny": [network]}):
        answer = await control.operator().post("/v1/sites", a_site(sources=rules))
        assert (answer.status_code, answer.json()["reason"]) == (422, "malformed-network")


async def test_an_edit_changes_what_it_names_in_the_state_that_was_read(control: ControlUnderTest) -> None:
    operator = control.operator(tenant="t-01")
    etag = (await operator.get("/v1/sites/site-a")).headers["etag"]
    changed = await operator.patch("/v1/sites/site-a", {"capacity": 7, "policy": "task"}, if_match=etag)
    assert (changed.json()["capacity"], changed.json()["policy"], changed.json()["refill_rate"]) == (7, "task", 120.0)
    late = await operator.patch("/v1/sites/site-a", {"refill_rate": 1}, if_match=etag)
    assert (late.status_code, late.json()["reason"]) == (412, "changed-meanwhile")
    assert (await operator.patch("/v1/sites/site-a", {})).status_code == 428
    again = await operator.patch("/v1/sites/site-a", {"refill_rate": 60, "policy": None}, if_match="*")
    assert (again.json()["capacity"], again.json()["policy"], again.json()["refill_rate"]) == (7, None, 60.0)


async def test_a_site_s_rules_judge_its_cameras(control: ControlUnderTest) -> None:
    operator = control.operator()
    camera = {"site_id": "site-a", "rtsp_url": "rtsp://127.0.0.1/"}
    assert (await operator.post("/v1/cameras", camera)).json()["reason"] == "address-loopback"
    await operator.patch("/v1/sites/site-a", {"sources": RULES}, if_match="*")
    assert (await operator.post("/v1/cameras", camera)).status_code == 201
    reasons = {
        "rtsp://127.0.0.2/": "address-loopback",
        "rtsp://10.20.1.1/": "address-denied",
        "rtsp://192.0.2.1/": "address-not-allowed",
        "device:///dev/video0": "url-kind-not-allowed",
    }
    for url, reason in reasons.items():
        assert (await operator.post("/v1/cameras", camera | {"rtsp_url": url})).json()["reason"] == reason
    assert (await operator.post("/v1/cameras", camera | {"rtsp_url": "file:///a.mp4"})).status_code == 201


@pytest.mark.parametrize("site_id", ["site-b", "site-9"])
async def test_a_foreign_site_answers_like_an_absent_one(control: ControlUnderTest, site_id: str) -> None:
    operator = control.operator(tenant="t-01")
    absent = await operator.get("/v1/sites/site-0")
    for answer in (
        await operator.get(f"/v1/sites/{site_id}"),
        await operator.patch(f"/v1/sites/{site_id}", {}, if_match="*"),
    ):
        assert (answer.status_code, answer.text) == (404, absent.text)


@pytest.mark.parametrize(
    ("rules", "field", "value"),
    [
        ({"kinds": ["file"]}, "kinds", "file"),
        ({"kinds": ["null", "device"]}, "kinds", "device"),
        ({"allow": ["127.0.0.0/8"]}, "allow", "127.0.0.0/8"),
        ({"allow": ["10.0.0.0/8", "169.254.169.254"]}, "allow", "169.254.169.254/32"),
        ({"allow": ["fd00:ec2::254"]}, "allow", "fd00:ec2::254/128"),
    ],
)
async def test_rules_wider_than_the_installation_s_limits_are_refused_by_field_and_limit(
    rules: dict[str, Any], field: str, value: str
) -> None:
    control = await ControlUnderTest().with_cameras("cam-1")
    for client in (control.operator(tenant="t-01"), control.person(Role.ADMIN)):
        tried = [
            await client.post("/v1/sites", a_site(site_id="t-01-new", sources=rules)),
            await client.patch("/v1/sites/site-a", {"sources": rules}, if_match="*"),
        ]
        assert {(each.status_code, each.json()["reason"]) for each in tried} == {(422, "sources-beyond-limits")}
        detail = tried[0].json()["detail"]
        assert f"sources.{field} names {value}" in detail
        assert f"STREAMWARD_SOURCES_{field.upper()}" in detail
    assert (await control.operator().get("/v1/sites/site-a")).json()["sources"]["allow"] == []


async def test_a_site_from_before_the_limits_gets_no_camera_beyond_them() -> None:
    control = await ControlUnderTest().with_cameras("cam-1")
    wide = AddressPolicy(allow=(parse_network("127.0.0.0/8"),), kinds=NETWORK | {SourceKind.FILE})
    await control.store.save_site(Site(site_id=SiteId("old"), tenant_id=TenantId("t-01"), addresses=wide))
    for url, reason in (("file:///etc/film.mp4", "url-kind-not-allowed"), ("rtsp://127.0.0.1/", "address-loopback")):
        answer = await control.operator().post("/v1/cameras", {"site_id": "old", "rtsp_url": url})
        assert (answer.status_code, answer.json()["reason"]) == (422, reason)
        assert "installation" in answer.json()["detail"]
