"""Deleted tenants on every driver: what they had goes, what must stay has no content, and their name is free again."""

from dataclasses import replace
from datetime import timedelta

from streamward.insight.analysis import Case, analysis
from streamward.insight.records import Recent
from streamward.insight.rules import Wishes
from streamward.leases.login_talk import CameraLogin, LoginTalk
from streamward.leases.logins import LoginId
from streamward.model.identity import Identity, Invitation, Role
from streamward.model.ids import CameraId, RunnerId, TenantId
from streamward.model.register import AuditFilter, Edit, Edited, Hindrance, Note, NotEdited, Once, Page, Redemption
from streamward.model.runner import Runner
from streamward.model.tenant import CLOCKS_APART, HOLD_NAME_FOR, DeletionStage, Tenant, TenantDeletion, TenantStanding
from tests.support.broadcasts import broadcast
from tests.support.builders import START, a_camera, a_site, a_spec, a_status, an_owner, at
from tests.support.fleet import ADA, remove_camera, take
from tests.support.sightings import a_crossed, a_sealed, a_seen
from tests.support.stores import World

OURS, THEIRS = TenantId("tenant-1"), TenantId("tenant-2")
ONE = an_owner()
RECORDS = ("detections", "zone_events", "batches", "analyses", "broadcasts")


def a_tenant(tenant_id: TenantId = OURS, key: str = "~first") -> Tenant:
    return Tenant(tenant_id=tenant_id, tenant_key=key, name="Hidden", updated_at=at(0))


async def edit(world: World, *edits: Edit, once: Once | None = None) -> object:
    outcome = await world.store.edit(edits, author=replace(ADA, tenant_id=OURS), once=once)
    assert isinstance(outcome, Edited), outcome
    return outcome.things[0]


async def with_tenant(world: World, tenant: Tenant, number: int = 1) -> None:
    """A tenant with one of everything."""
    store, tenant_id = world.store, tenant.tenant_id
    camera_id, site_id = f"cam-{number}", f"site-{number}"
    named = Once(subject=f"{tenant_id}/ada", key="once", digest="digest")
    await edit(world, Edit(after=tenant), once=named)
    await edit(world, Edit(after=a_site(site_id, tenant=tenant_id)))
    await edit(world, Edit(after=a_camera(camera_id, site=site_id, tenant=tenant_id)))
    assert isinstance(await store.register(a_spec(ONE)), Runner)
    bound = replace(a_spec(an_owner(f"{tenant_id}-runner-{number}")), tenant_id=tenant_id)
    assert isinstance(await store.register(bound), Runner)
    await take(store, ONE, camera_id)
    await store.record([a_status(camera_id)])
    login = CameraLogin(camera_id=CameraId(camera_id), login=LoginId("a" * 64))
    await store.judge_logins(LoginTalk(owner=ONE, asks=(login,)), scope=None)
    await with_records(world, tenant_id, number)
    code = Invitation(
        invitation_id=f"inv-{tenant_id}",
        code_hash=f"hash-{tenant_id}",
        subject="bob",
        role=Role.VIEWER,
        tenant_id=tenant_id,
        expires_at=at(900),
        updated_at=at(0),
    )
    await edit(world, Edit(after=code))
    await edit(world, Edit(after=replace(code, invitation_id=f"open-{tenant_id}", code_hash=f"open-{tenant_id}")))
    used = Redemption(
        code_hash=code.code_hash,
        identity_id=f"id-{number}",
        public_key=f"key-{number}",
        address="192.0.2.7",
        request_id="req-7",
    )
    assert await store.redeem(used) is not None
    wished = Note(author=ADA, action="batching.updated", tenant_id=tenant_id, object_id=tenant_id, after={"window": 9})
    await world.insight.rules.save_wishes(tenant_id, Wishes(window=9.0), note=wished)


async def with_records(world: World, tenant_id: TenantId, number: int) -> None:
    """Something was detected, batched, analysed and broadcast."""
    insight, camera_id, site_id = world.insight, f"cam-{number}", f"site-{number}"
    seen = replace(a_seen(f"event-{number}", camera_id=camera_id, tenant=tenant_id), site_id=a_site(site_id).site_id)
    [stored] = (await insight.detections.admit([seen])).stored
    assert stored is not None
    crossed = a_crossed(f"event-{number}", camera_id=seen.camera_id, tenant_id=tenant_id, site_id=seen.site_id)
    assert await insight.zone_events.admit([crossed]) != (None,)
    batch = a_sealed([stored.detection_id], number=number, tenant=tenant_id, camera_id=camera_id)
    assert (await insight.batches.close_batch(batch)).is_new
    [record] = await insight.records.detections(Recent(scope=tenant_id))
    case = Case(batch=batch, seen=(record.recorded,))
    assert await insight.analyses.save(analysis(case, analyst="summary", summary="a person", risk=1, reasons=["dark"]))
    await broadcast(insight, tenant_id, "detection.new", ["{}"])


async def delete(world: World, tenant: Tenant, number: int = 1) -> TenantDeletion:
    """Its cameras, its sites, then itself, as people do it."""
    store = world.store
    assert await remove_camera(store, f"cam-{number}")
    site = await store.find_site(a_site(f"site-{number}").site_id, scope=None)
    assert site is not None
    known = await store.find_tenant(tenant.tenant_id, scope=None)
    assert known is not None
    await edit(world, Edit(before=site))
    await edit(world, Edit(before=known))
    begun = await store.find_deletion(tenant.tenant_id)
    assert begun is not None
    return begun


async def purge(world: World, deletion: TenantDeletion) -> TenantDeletion:
    while await world.store.delete_rows(deletion, limit=2):
        pass
    return await world.store.advance(deletion)


async def finish(world: World, deletion: TenantDeletion) -> TenantDeletion:
    await purge(world, deletion)
    await world.sleep(HOLD_NAME_FOR)
    finished = await world.store.advance(deletion)
    assert finished.stage is DeletionStage.GONE
    return finished


async def counts(world: World, scope: TenantId | None) -> dict[str, int]:
    """How much can be read."""
    insight, wanted = world.insight, Recent(scope=scope)
    return {
        "detections": len(await insight.records.detections(wanted)),
        "zone_events": len(await insight.zone_events.page(wanted)),
        "batches": len(await insight.records.batches(wanted)),
        "analyses": len(await insight.analyses.page(wanted)),
        "broadcasts": len(await insight.broadcasts.after(0, scope=scope, limit=9)),
    }


async def test_a_deletion_is_recorded_with_the_deletion_itself(world: World):
    await with_tenant(world, a_tenant())
    await world.sleep(5)
    begun = await delete(world, a_tenant())
    after = at(5) + timedelta(seconds=CLOCKS_APART)
    assert begun == TenantDeletion(tenant_key="~first", tenant_id=OURS, requested_at=at(5), tokens_after=after)
    assert begun.stage is DeletionStage.ROWS
    assert await world.store.deletions() == [begun]
    assert await world.store.find_deletion(THEIRS) is None
    assert await world.store.tenant_standings() == [TenantStanding(tenant_id=OURS, is_live=False, tokens_after=after)]


async def test_everything_of_a_deleted_tenant_is_deleted_in_small_parts_and_nothing_of_others(world: World):
    await with_tenant(world, a_tenant())
    await with_tenant(world, a_tenant(THEIRS, "~theirs"), number=2)
    theirs = await world.store.rows_left(THEIRS, at_most=999)
    begun = await delete(world, a_tenant())
    left = await world.store.rows_left(OURS, at_most=999)
    assert await world.store.rows_left(OURS, at_most=3) == 3
    assert await world.store.delete_rows(begun, limit=1) == 1
    done = await purge(world, begun)
    assert sum(done.removed.values()) == left > 14
    assert set(done.removed) > {*RECORDS, "grants", "logins", "runners", "invitations", "identities", "audit"}
    assert done.rows_deleted_at == done.payloads_deleted_at == START
    assert await world.store.rows_left(OURS, at_most=999) == 0
    assert await counts(world, OURS) == dict.fromkeys(RECORDS, 0)
    assert await counts(world, THEIRS) == await counts(world, None) == dict.fromkeys(RECORDS, 1)
    assert await world.store.rows_left(THEIRS, at_most=999) == theirs


async def test_a_stage_ends_only_when_nothing_is_left_and_the_next_ends_with_a_batcher_if_there_is_one(world: World):
    await world.insight.deletions.at_work()
    await with_tenant(world, a_tenant())
    begun = await delete(world, a_tenant())
    assert (await world.store.advance(begun)).stage is DeletionStage.ROWS
    assert await world.insight.deletions.waiting() == []
    await world.insight.deletions.payloads_deleted(begun)
    assert (await purge(world, begun)).stage is DeletionStage.PAYLOADS
    await world.sleep(HOLD_NAME_FOR)
    [waiting] = await world.insight.deletions.waiting()
    assert (await world.store.advance(begun)).stage is DeletionStage.PAYLOADS
    await world.insight.deletions.payloads_deleted(waiting)
    assert await world.insight.deletions.waiting() == []
    finished = await world.store.advance(begun)
    assert (finished.stage, finished.finished_at) == (DeletionStage.GONE, world.clock.wall())
    assert await world.store.deletions() == []
    assert await world.store.find_deletion(OURS) == finished


async def test_a_name_is_held_until_no_earlier_token_can_be_mistaken(world: World):
    await with_tenant(world, a_tenant())
    begun = await delete(world, a_tenant())
    assert (await purge(world, begun)).stage is DeletionStage.NAME
    outcome = await world.store.edit([Edit(after=a_tenant(key="~second"))], author=ADA)
    assert isinstance(outcome, NotEdited)
    assert outcome.why is Hindrance.DELETING
    assert await world.store.find_tenant(OURS, scope=None) is None
    await world.sleep(HOLD_NAME_FOR - 0.001)
    assert (await world.store.advance(begun)).stage is DeletionStage.NAME
    await world.sleep(0.001)
    assert (await world.store.advance(begun)).stage is DeletionStage.GONE
    await edit(world, Edit(after=a_tenant(key="~second")))
    assert await world.store.tenant_standings() == [
        TenantStanding(tenant_id=OURS, is_live=True, tokens_after=begun.tokens_after)
    ]


async def test_a_tenant_made_again_under_a_name_sees_nothing_of_the_earlier_one(world: World):
    await with_tenant(world, a_tenant())
    await finish(world, await delete(world, a_tenant()))
    await edit(world, Edit(after=a_tenant(key="~second")))
    store, page = world.store, Page(scope=OURS)
    assert await counts(world, OURS) == dict.fromkeys(RECORDS, 0)
    assert [row.action for row in await store.audit(AuditFilter(scope=OURS))] == ["tenant.created"]
    assert (await store.invitations(page), await store.identities(page), await store.sites(page)) == ([], [], [])
    assert [each.runner_id for each in await store.runners() if each.tenant_id == OURS] == []
    assert await store.announced(scope=OURS, after=0, limit=9) == []
    assert await world.insight.rules.find_wishes(OURS, scope=None) == Wishes()
    named = Once(subject=f"{OURS}/ada", key="once", digest="another")
    assert isinstance(await store.edit([Edit(after=a_site(tenant=OURS))], author=ADA, once=named), Edited)


async def test_the_audit_keeps_ids_and_no_content(world: World):
    await with_tenant(world, a_tenant())
    before = await world.store.audit(AuditFilter(scope=None))
    await finish(world, await delete(world, a_tenant()))
    rows = await world.store.audit(AuditFilter(scope=None))
    assert {row.tenant_id for row in rows} == {"~first"}
    assert {row.author.tenant_id for row in rows} <= {"~first", None}
    assert {(row.before, row.after) for row in rows} == {(None, None)}
    kept = {row.position: row for row in rows}
    assert all(kept[row.position].object_id == row.object_id for row in before)
    assert [row.action for row in rows[:3]] == ["tenant.deleted", "site.deleted", "camera.deleted"]


async def test_what_an_owner_made_for_a_deleted_tenant_is_refused_also_when_the_name_is_another_s(world: World):
    await with_tenant(world, a_tenant())
    late = replace(a_seen("late", camera_id="cam-1", tenant=OURS), made_at=START)
    begun = await delete(world, a_tenant())
    await purge(world, begun)
    assert (await world.insight.detections.admit([late])).stored == (None,)
    await finish(world, begun)
    await edit(world, Edit(after=a_tenant(key="~second")))
    await edit(world, Edit(after=a_site(tenant=OURS)))
    await edit(world, Edit(after=a_camera("cam-1", tenant=OURS)))
    assert (await world.insight.detections.admit([late])).stored == (None,)
    assert await world.insight.zone_events.admit([a_crossed("late", camera_id=CameraId("cam-1"))]) == (None,)


async def test_generations_go_on_after_the_grants_of_a_deleted_tenant_are_deleted(world: World):
    await with_tenant(world, a_tenant())
    await finish(world, await delete(world, a_tenant()))
    await edit(world, Edit(after=a_tenant(key="~second")))
    await edit(world, Edit(after=a_site(tenant=OURS)))
    await edit(world, Edit(after=a_camera("cam-1", tenant=OURS)))
    assert await world.store.history(CameraId("cam-1")) == []
    await world.advance(1000)
    assert isinstance(await world.store.register(a_spec(an_owner("r2"))), Runner)
    assert (await take(world.store, an_owner("r2"), "cam-1")).generation == 2


async def test_what_was_begun_for_the_earlier_tenant_is_not_written_for_the_next(world: World):
    await with_tenant(world, a_tenant())
    [record] = await world.insight.records.detections(Recent(scope=OURS))
    batch = a_sealed([record.detection_id], number=7, tenant=OURS, camera_id="cam-1")
    case = Case(batch=a_sealed([1], tenant=OURS, camera_id="cam-1"), seen=(record.recorded,))
    said = analysis(case, analyst="summary", summary="a person", risk=1, reasons=[])
    await finish(world, await delete(world, a_tenant()))
    await edit(world, Edit(after=a_tenant(key="~second")))
    assert not (await world.insight.batches.close_batch(batch)).is_new
    assert not await world.insight.analyses.save(said)
    assert not await world.insight.broadcasts.append(OURS, "detection.new", ["{}"], tenant_key="~first")
    assert await counts(world, None) == dict.fromkeys(RECORDS, 0)


async def test_a_control_plane_that_was_frozen_deletes_nothing_of_the_next_tenant_of_a_name(world: World):
    await with_tenant(world, a_tenant())
    begun = await delete(world, a_tenant())
    await finish(world, begun)
    await with_tenant(world, a_tenant(key="~second"), number=2)
    assert await world.store.delete_rows(begun, limit=99) == 0
    assert await counts(world, OURS) == dict.fromkeys(RECORDS, 1)


async def test_identities_of_a_deleted_tenant_stay_revoked_under_its_internal_id(world: World):
    await with_tenant(world, a_tenant())
    known = await world.store.find_identity("id-1", scope=OURS)
    assert isinstance(known, Identity)
    await edit(world, Edit(before=known, after=replace(known, revoked_at=at(0))))
    await finish(world, await delete(world, a_tenant()))
    kept = await world.store.find_identity("id-1", scope=None)
    assert kept is not None
    assert (kept.tenant_id, kept.is_live) == ("~first", False)
    [doubt] = await world.store.doubts()
    assert (doubt.identity_id, doubt.tenant_id) == ("id-1", "~first")


async def test_only_names_of_deleted_tenants_that_no_tenant_has_now_are_gone(world: World):
    await with_tenant(world, a_tenant())
    asked = [OURS, THEIRS, TenantId("never")]
    assert await world.store.gone(asked) == []
    begun = await delete(world, a_tenant())
    assert await world.store.gone(asked) == [OURS]
    await finish(world, begun)
    assert await world.store.gone(asked) == [OURS]
    await edit(world, Edit(after=a_tenant(key="~second")))
    assert await world.store.gone(asked) == []


async def test_the_keys_of_live_tenants_are_known_to_batchers(world: World):
    await with_tenant(world, a_tenant())
    assert await world.insight.rules.tenant_keys() == {OURS: "~first"}
    await delete(world, a_tenant())
    assert await world.insight.rules.tenant_keys() == {}


async def test_the_status_of_a_camera_ends_with_it(world: World):
    await with_tenant(world, a_tenant())
    assert await world.store.find_status(CameraId("cam-1")) is not None
    assert await remove_camera(world.store, "cam-1")
    assert await world.store.find_status(CameraId("cam-1")) is None


async def test_a_runner_of_a_deleted_tenant_is_forgotten_and_its_incarnation_is_not(world: World):
    await with_tenant(world, a_tenant())
    await finish(world, await delete(world, a_tenant()))
    assert await world.store.find_runner(RunnerId(f"{OURS}-runner-1")) is None
    assert not isinstance(await world.store.register(a_spec(an_owner(f"{OURS}-runner-1"))), Runner)
