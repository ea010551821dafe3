"""Deleting a tenant through the HTTP application: at once for its people, in the background for its data."""

from typing import Any

import pytest

from streamward.control.tenant_purger import LOOK_EVERY, TenantDataDeleted, TenantPurger
from streamward.drivers.key_pair import KeyPair
from streamward.model.identity import Role
from streamward.model.ids import TenantId
from streamward.model.tenant import HOLD_NAME_FOR
from tests.support.app import Client
from tests.support.identities import Somebody
from tests.support.two_tenants import OURS, THEIRS, TwoTenants

READS = ("detections", "zone-events", "batches", "analyses", "cameras", "sites", "leases", "runners", "identities")


class Deleting(TwoTenants):
    """Two tenants, one of which is deleted."""

    @property
    def root(self) -> Client:
        return self.control.person(Role.ADMIN)

    async def delete(self, tenant: str = OURS) -> dict[str, Any]:
        names = self.names[tenant]
        for camera in (names.camera_uuid, f"{tenant}-free"):
            assert (await self.root.delete(f"/v1/cameras/{camera}", if_match="*")).is_success
        assert (await self.root.delete(f"/v1/sites/{names.site_id}", if_match="*")).is_success
        answer = await self.root.delete(f"/v1/tenants/{tenant}", if_match="*")
        assert answer.status_code == 202, answer.text
        told: dict[str, Any] = answer.json()
        return told

    async def purge(self) -> TenantPurger:
        purger = TenantPurger(self.control.store, self.control.journal, part=3)
        while await purger.tick() < LOOK_EVERY:
            pass
        return purger

    async def finish(self) -> None:
        purger = await self.purge()
        self.control.clock.advance(HOLD_NAME_FOR)
        await purger.tick()

    async def deletion(self) -> dict[str, Any]:
        told: dict[str, Any] = (await self.root.get(f"/v1/tenants/{OURS}/deletion")).json()
        return told

    async def again(self) -> Client:
        """The same name for a new tenant, and an admin of that."""
        answer = await self.root.post("/v1/tenants", {"tenant_id": OURS})
        assert answer.status_code == 201, answer.text
        return self.control.person(Role.ADMIN, tenant=OURS)


@pytest.fixture
async def tenants() -> Deleting:
    both = Deleting()
    await both.settle()
    return both


async def reads(client: Client) -> dict[str, list[Any]]:
    answers = {name: await client.get(f"/v1/{name}") for name in (*READS, "audit")}
    assert [answer.text for answer in answers.values() if not answer.is_success] == []
    return {name: answer.json()["items"] for name, answer in answers.items()}


async def test_a_deletion_tells_how_far_it_is_until_nothing_is_left(tenants: Deleting) -> None:
    begun = await tenants.delete()
    assert (begun["state"], begun["waiting_for"], begun["removed"]) == ("deleting", "rows", {})
    assert begun["rows_left"] > 10
    assert [each["tenant_id"] for each in (await tenants.root.get("/v1/tenant-deletions")).json()["items"]] == [OURS]
    await tenants.purge()
    now = await tenants.deletion()
    assert (now["state"], now["waiting_for"], now["rows_left"]) == ("deleting", "name", 0)
    assert sum(now["removed"].values()) == begun["rows_left"]
    facts: list[object] = []
    tenants.control.journal.subscribe(facts.append)
    await tenants.finish()
    done = await tenants.deletion()
    assert (done["state"], done["waiting_for"]) == ("gone", None)
    assert done["finished_at"] is not None
    rows = sum(done["removed"].values())
    assert facts == [TenantDataDeleted(tenant_id=TenantId(OURS), tenant_key=done["tenant_key"], rows=rows)]
    assert (await tenants.root.get("/v1/tenant-deletions")).json() == {"items": []}
    assert (await tenants.root.get(f"/v1/tenants/{THEIRS}/deletion")).json()["reason"] == "tenant-not-deleted"


async def test_people_of_one_tenant_see_no_deletions(tenants: Deleting) -> None:
    await tenants.delete()
    theirs = tenants.control.person(Role.ADMIN, tenant=THEIRS)
    assert (await theirs.get("/v1/tenant-deletions")).json() == {"items": []}
    assert (await theirs.get(f"/v1/tenants/{OURS}/deletion")).status_code == 403


async def test_a_tenant_with_sites_is_not_deleted(tenants: Deleting) -> None:
    answer = await tenants.root.delete(f"/v1/tenants/{OURS}", if_match="*")
    assert (answer.status_code, answer.json()["reason"]) == (409, "tenant-in-use")
    assert (await tenants.control.person(Role.VIEWER, tenant=OURS).get("/v1/cameras")).is_success


async def test_every_token_of_a_deleted_tenant_is_refused_at_once_and_for_ever(tenants: Deleting) -> None:
    control = tenants.control
    viewer, runner = control.person(Role.VIEWER, tenant=OURS), control.runner("t-01-r", tenant=OURS)
    given = (await runner.post("/v1/runners/release-token", {"runner_id": "t-01-r"})).json()
    ticket = control.anyone(given["token"])
    await tenants.delete()

    async def are_refused() -> None:
        for answer in (
            await viewer.get("/v1/detections"),
            await runner.post("/v1/runners/heartbeat", {"runner_id": "t-01-r"}),
            await ticket.post("/v1/runners/release-all", {"runner_id": "t-01-r"}),
        ):
            assert (answer.status_code, answer.json()["reason"]) == (401, "token-tenant-gone")

    await are_refused()
    await tenants.finish()
    await are_refused()
    assert (await (await tenants.again()).get("/v1/detections")).is_success
    await are_refused()


async def test_a_token_for_a_tenant_that_never_was_is_refused(tenants: Deleting) -> None:
    token = tenants.control.mint.person("ada", role=Role.ADMIN, tenant_id=TenantId("nobody"))
    answer = await tenants.control.anyone(token).get("/v1/cameras")
    assert (answer.status_code, answer.json()["reason"]) == (401, "token-tenant-unknown")


async def test_a_token_that_a_fast_clock_dated_ahead_is_not_one_of_the_next_tenant(tenants: Deleting) -> None:
    tenants.control.clock.advance(4)
    ahead = tenants.control.mint.person("ada", role=Role.VIEWER, tenant_id=TenantId(OURS))
    tenants.control.clock.advance(-4)
    await tenants.delete()
    await tenants.finish()
    assert (await (await tenants.again()).get("/v1/cameras")).is_success
    assert (await tenants.control.anyone(ahead).get("/v1/cameras")).json()["reason"] == "token-tenant-gone"


async def test_a_name_cannot_be_used_while_data_of_the_earlier_tenant_is_left(tenants: Deleting) -> None:
    await tenants.delete()
    answer = await tenants.root.post("/v1/tenants", {"tenant_id": OURS})
    assert (answer.status_code, answer.json()["reason"]) == (409, "tenant-deleting")


async def test_a_tenant_made_again_under_a_name_reads_nothing_of_the_earlier_one(tenants: Deleting) -> None:
    await tenants.delete()
    await tenants.finish()
    admin = await tenants.again()
    found = await reads(admin)
    assert [row["action"] for row in found.pop("audit")] == ["tenant.created"]
    assert found == {name: [] for name in READS}
    told = await admin.get("/v1/events/stream", after=0, timeout_s=0)
    assert "detection.new" not in told.text
    hidden = [row for row in tenants.rows_of(OURS) if f"{OURS}-hidden" in row]
    assert {row.partition(":")[0] for row in hidden} <= {"identities", "audit"}  # a subject's and an object's id


async def test_what_the_feed_remembers_of_a_tenant_is_not_for_the_next_one_of_its_name(tenants: Deleting) -> None:
    control = tenants.control
    await tenants.delete()
    [row] = [each for each in control.database.broadcasts if each.tenant_id == OURS]
    await tenants.finish()
    admin = await tenants.again()
    control.database.broadcasts.insert(0, row)  # as a control plane that read it before has it in memory
    assert "detection.new" not in (await admin.get("/v1/events/stream", after=0, timeout_s=0)).text


async def test_an_identity_of_a_deleted_tenant_learns_that_and_its_name_can_be_enrolled_again(
    tenants: Deleting,
) -> None:
    invitation = {"subject": "t-01-west", "role": "runner", "tenant_id": OURS}
    runner = Somebody(tenants.control, KeyPair.new())
    assert (await runner.redeem((await tenants.root.post("/v1/invitations", invitation)).json()["code"])).is_success
    await tenants.delete()
    await tenants.finish()
    refused = await runner.ask(incarnation="inc-9")
    assert (refused.status_code, refused.json()["reason"]) == (401, "token-tenant-gone")
    assert refused.json()["fields"] == {"subject": "t-01-west"}
    await tenants.again()
    invited = await tenants.root.post("/v1/invitations", invitation)
    assert invited.status_code == 201, invited.text
    assert (await Somebody(tenants.control, KeyPair.new()).redeem(invited.json()["code"])).is_success


async def test_runners_learn_which_tenants_were_deleted_and_bound_ones_only_of_their_own(tenants: Deleting) -> None:
    asked = {"tenant_ids": [OURS, THEIRS, "never"]}
    bound, everywhere = tenants.control.runner("t-02-r", tenant=THEIRS), tenants.control.runner("r-all")

    async def answers() -> list[list[str]]:
        told = [await each.post("/v1/deleted-tenants", asked) for each in (everywhere, bound)]
        return [each.json()["tenant_ids"] for each in told]

    assert await answers() == [[], []]
    await tenants.delete()
    assert await answers() == [[OURS], []]
    await tenants.finish()
    assert await answers() == [[OURS], []]
    await tenants.again()
    assert await answers() == [[], []]


async def test_a_camera_deleted_by_one_tenant_and_made_by_another_shows_neither_the_data_of_the_other(
    tenants: Deleting,
) -> None:
    control, camera = tenants.control, tenants.names[OURS].camera_uuid
    assert (await tenants.root.delete(f"/v1/cameras/{camera}", if_match="*")).is_success
    made = {"camera_uuid": camera, "site_id": tenants.names[THEIRS].site_id, "rtsp_url": "rtsp://10.2.0.8/new"}
    assert (await tenants.root.post("/v1/cameras", made)).status_code == 201
    one, other = (control.person(Role.ADMIN, tenant=each) for each in (OURS, THEIRS))
    own = [f"/v1/cameras/{camera}", f"/v1/cameras/{camera}/why", f"/v1/leases/{camera}"]
    for path in (*(f"/v1/{name}" for name in (*READS, "audit", "cameras/changes")), *own):
        told = await other.get(path)
        assert told.is_success, told.text
        assert not [mark for mark in (f"{OURS}-hidden", f"{OURS}-runner", "10.1.0.7") if mark in told.text], told.text
    assert [(await one.get(path)).status_code for path in own] == [404] * 3
    mine = await reads(one)
    assert "10.2.0.8" not in str(mine)
    assert len(mine["detections"]) == len(mine["batches"]) == len(mine["zone-events"]) == 1
