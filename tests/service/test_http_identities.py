"""Becoming known, getting tokens, and being trusted no more, through the HTTP application."""

from typing import Any

import pytest

from streamward.drivers.key_pair import KeyPair
from streamward.model.identity import Role
from tests.support.app import Client, ControlUnderTest
from tests.support.identities import Somebody, become_known, invited

RUNNER: dict[str, Any] = {"subject": "r1", "role": "runner"}


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1")
    return await control.with_cameras("cam-2", site="site-b", tenant="t-02")


@pytest.fixture
def admin(control: ControlUnderTest) -> Client:
    return control.person(Role.ADMIN)


async def test_a_code_makes_a_person_known_who_then_gets_tokens(control: ControlUnderTest, admin: Client) -> None:
    bob = await become_known(control, admin, tenant_id="t-01")
    answer = await bob.ask()
    told = answer.json()
    assert (told["subject"], told["role"], told["tenant_id"]) == ("bob", "operator", "t-01")
    assert (told["token_type"], told["expires_in"]) == ("Bearer", 900)
    cameras = await control.anyone(told["access_token"]).get("/v1/cameras")
    assert [each["camera_uuid"] for each in cameras.json()["items"]] == ["cam-1"]


async def test_a_runner_gets_a_token_for_each_start(control: ControlUnderTest) -> None:
    runner = await become_known(control, control.operator(), **RUNNER)
    first = await runner.client(incarnation="inc-1")
    assert (await first.post("/v1/runners/register", {"runner_id": "r1"})).json()["incarnation"] == "inc-1"
    second = await runner.client(incarnation="inc-2")
    assert (await second.post("/v1/runners/register", {"runner_id": "r1"})).status_code == 200
    assert (await first.post("/v1/runners/heartbeat", {"runner_id": "r1", "streams_owned": 0})).status_code == 409


async def test_a_code_works_once_and_however_it_is_written(control: ControlUnderTest, admin: Client) -> None:
    code = await invited(admin)
    somebody = Somebody(control)
    assert (await somebody.redeem(code.lower().replace("-", " "))).status_code == 201
    assert (await somebody.redeem(code)).status_code == 201  # the answer may have been lost
    thief = await Somebody(control).redeem(code)
    assert (thief.status_code, thief.json()["reason"]) == (403, "code-refused")
    unknown = await Somebody(control).redeem("AAAA-BBBB")
    assert unknown.text == thief.text


async def test_a_code_ends_with_its_time_or_by_hand(control: ControlUnderTest, admin: Client) -> None:
    late, gone = await invited(admin, ttl_s=60), await invited(admin, subject="eve")
    listed = (await admin.get("/v1/invitations")).json()["items"]
    assert {each["subject"] for each in listed} == {"bob", "eve"}
    assert not any("code" in each for each in listed)
    [eve] = [each["invitation_id"] for each in listed if each["subject"] == "eve"]
    assert (await admin.delete(f"/v1/invitations/{eve}")).status_code == 200
    assert (await admin.delete(f"/v1/invitations/{eve}")).status_code == 404
    control.clock.advance(61)
    for code in (late, gone):
        assert (await Somebody(control).redeem(code)).status_code == 403


async def test_no_code_is_kept_or_written_down(control: ControlUnderTest, admin: Client) -> None:
    code = await invited(admin)
    kept = repr(control.database) + (await admin.get("/v1/audit")).text
    assert code not in kept
    assert code.replace("-", "") not in kept


@pytest.mark.parametrize("role", ["viewer", "operator", "admin"])
async def test_only_admins_invite_people(control: ControlUnderTest, role: str) -> None:
    body = {"subject": "bob", "role": role}
    refused = await control.operator().post("/v1/invitations", body)
    assert (refused.status_code, refused.json()["reason"]) == (403, "wrong-role")
    assert (await control.person(Role.VIEWER).post("/v1/invitations", body | RUNNER)).status_code == 403


async def test_an_admin_of_one_tenant_invites_into_that_one(control: ControlUnderTest) -> None:
    admin = control.person(Role.ADMIN, tenant="t-01")
    somebody = await become_known(control, admin, role="admin")
    assert (await somebody.ask()).json()["tenant_id"] == "t-01"
    for tenant in ("t-02", "t-99"):
        refused = await admin.post("/v1/invitations", {"subject": "x", "role": "viewer", "tenant_id": tenant})
        assert (refused.status_code, refused.json()["reason"]) == (422, "tenant-differs")
    taken = await admin.post("/v1/invitations", RUNNER)
    assert (taken.status_code, taken.json()["reason"]) == (422, "id-outside-tenant")


async def test_a_runner_of_another_tenant_is_not_taken_over(control: ControlUnderTest, admin: Client) -> None:
    await become_known(control, admin, **RUNNER, tenant_id="t-01")
    taken = await admin.post("/v1/invitations", RUNNER | {"tenant_id": "t-02"})
    assert (taken.status_code, taken.json()["reason"]) == (409, "runner-exists")
    assert (await admin.post("/v1/invitations", RUNNER | {"tenant_id": "t-01"})).status_code == 201


async def test_an_assertion_of_nobody_is_refused(control: ControlUnderTest, admin: Client) -> None:
    bob = await become_known(control, admin)
    good = bob.pair.assertion(now=int(control.clock.wall().timestamp()))
    stranger = KeyPair.new().assertion(now=int(control.clock.wall().timestamp()))
    head, said, code = good.split(".")
    other_code = stranger.split(".")[2]
    token = (await bob.ask()).json()["access_token"]
    for forged in (stranger, f"{head}.{said}.{other_code}", f"{head}.{stranger.split('.')[1]}.{code}", token, "x", ""):
        answer = await bob.show(forged)
        assert (answer.status_code, answer.json()["reason"]) == (401, "assertion-refused")
    assert (await bob.ask(incarnation="inc-1")).status_code == 401  # a person has no starts


@pytest.mark.parametrize(("late", "side"), [(600.0, "600 s behind"), (-600.0, "600 s ahead of")])
async def test_clocks_that_are_apart_are_told(control: ControlUnderTest, admin: Client, late: float, side: str) -> None:
    bob = await become_known(control, admin)
    answer = await bob.ask(late=late)
    assert (answer.status_code, answer.json()["reason"]) == (401, "clock-skew")
    assert side in answer.json()["detail"]
    assert "NTP" in answer.json()["detail"]
    assert (await bob.ask(late=late / 11)).status_code == 200


async def test_a_revoked_runner_is_out_at_once(control: ControlUnderTest, admin: Client) -> None:
    runner = await become_known(control, admin, **RUNNER)
    client = await runner.client(incarnation="inc-1")
    await client.post("/v1/runners/register", {"runner_id": "r1"})
    assert (await control.operator().post("/v1/runners/r1/revoke")).json() == {"runner_id": "r1"}
    refused = await client.get("/v1/cameras")
    assert (refused.status_code, refused.json()["reason"]) == (401, "token-revoked")
    assert (await runner.ask(incarnation="inc-2")).status_code == 401
    assert (await control.runner("r1").get("/v1/cameras")).status_code == 401  # minted on the control host
    again = await become_known(control, admin, **RUNNER)
    assert (await (await again.client(incarnation="inc-3")).get("/v1/cameras")).status_code == 200
    assert (await client.get("/v1/cameras")).status_code == 401


async def test_a_runner_that_never_enrolled_can_be_revoked_too(control: ControlUnderTest) -> None:
    runner = control.runner("r1")
    await runner.post("/v1/runners/register", {"runner_id": "r1"})
    await control.operator().post("/v1/runners/r1/revoke")
    assert (await runner.get("/v1/cameras")).json()["reason"] == "token-revoked"
    assert (await control.operator().post("/v1/runners/r9/revoke")).status_code == 404
    foreign = await control.operator(tenant="t-01").post("/v1/runners/r1/revoke")
    assert foreign.status_code == 404


async def test_another_role_ends_the_tokens_of_before(control: ControlUnderTest, admin: Client) -> None:
    bob = await become_known(control, admin)
    client = await bob.client()
    path = f"/v1/identities/{bob.pair.identity_id}"
    etag = (await admin.get(path)).headers["etag"]
    changed = await admin.patch(path, {"role": "viewer"}, if_match=etag)
    assert changed.json()["role"] == "viewer"
    refused = await client.get("/v1/cameras")
    assert (refused.status_code, refused.json()["reason"]) == (401, "token-outdated")
    fresh = await bob.client()
    assert (await fresh.get("/v1/runners")).status_code == 200
    assert (await fresh.post("/v1/runners/r1/revoke")).status_code == 403
    assert (await admin.patch(path, {"role": "admin"}, if_match=etag)).status_code == 412


async def test_everyone_may_give_up_their_own_identity_and_no_other(control: ControlUnderTest, admin: Client) -> None:
    bob = await become_known(control, admin)
    eve = await become_known(control, admin, subject="eve", role="viewer")
    client = await eve.client()
    assert (await client.delete(f"/v1/identities/{bob.pair.identity_id}")).status_code == 404
    assert (await client.delete(f"/v1/identities/{eve.pair.identity_id}")).status_code == 200
    assert (await client.get("/v1/cameras")).status_code == 401
    assert (await admin.delete(f"/v1/identities/{bob.pair.identity_id}")).status_code == 200
    assert (await admin.delete(f"/v1/identities/{bob.pair.identity_id}")).status_code == 404
    listed = (await admin.get("/v1/identities")).json()["items"]
    assert {(each["subject"], each["revoked_at"] is None) for each in listed} == {("bob", False), ("eve", False)}


async def test_a_runner_has_no_other_role(control: ControlUnderTest, admin: Client) -> None:
    runner = await become_known(control, admin, **RUNNER)
    path = f"/v1/identities/{runner.pair.identity_id}"
    assert (await admin.patch(path, {"role": "admin"}, if_match="*")).status_code == 409
    assert (await admin.patch(path, {"role": "runner"}, if_match="*")).status_code == 422


async def test_an_admin_of_one_tenant_sees_nobody_of_another(control: ControlUnderTest, admin: Client) -> None:
    bob = await become_known(control, admin, tenant_id="t-01")
    other = control.person(Role.ADMIN, tenant="t-02")
    absent = await other.get("/v1/identities/nobody")
    for answer in (
        await other.get(f"/v1/identities/{bob.pair.identity_id}"),
        await other.delete(f"/v1/identities/{bob.pair.identity_id}"),
        await other.patch(f"/v1/identities/{bob.pair.identity_id}", {"role": "viewer"}, if_match="*"),
    ):
        assert (answer.status_code, answer.text) == (404, absent.text)
    assert (await other.get("/v1/identities")).json()["items"] == []
