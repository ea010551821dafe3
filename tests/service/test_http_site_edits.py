"""Sites as operators describe them, through the HTTP application."""

from typing import Any

import pytest

from tests.support.app import ControlUnderTest

RULES = {"allow": ["10.20.0.0/16", "127.0.0.1/32"], "deny": ["10.20.1.1/32"], "kinds": ["file"]}


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1")
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
        "updated_at": "2026-01-01T12:00:00Z",
    }
    assert answer.json() == expected
    read = await control.operator(tenant="t-01").get("/v1/sites/new")
    assert (read.json(), read.headers["etag"]) == (expected, answer.headers["etag"])


async def test_the_tenant_comes_from_the_token_if_it_names_one(control: ControlUnderTest) -> None:
    own = await control.operator(tenant="t-02").post("/v1/sites", a_site(site_id="t-02-new", tenant_id=None))
    assert own.json()["tenant_id"] == "t-02"
    for client, tenant in ((control.operator(tenant="t-02"), "t-01"), (control.operator(), None)):
        refused = await client.post("/v1/sites", a_site(site_id="other", tenant_id=tenant))
        assert (refused.status_code, refused.json()["reason"]) == (422, "tenant-needed")


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
