"""One-time codes and identities, on every driver."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from streamward.leases.lease import DenialReason, Denied
from streamward.model.identity import Identity, Invitation, Role
from streamward.model.ids import TenantId
from streamward.model.register import AuditFilter, Edit, Edited, Note, Page, Redemption
from streamward.model.tenant import Tenant
from tests.support.builders import an_owner, at
from tests.support.fleet import ADA, take, with_cameras, with_runners
from tests.support.stores import World

NORTH, SOUTH = TenantId("north"), TenantId("south")
EVERYONE = Page(scope=None)
RUNNER = an_owner("runner-1")


def a_code(
    name: str = "one",
    *,
    role: Role = Role.OPERATOR,
    subject: str = "bob",
    expires_in: float = 60,
    tenant_id: TenantId | None = NORTH,
) -> Invitation:
    return Invitation(
        invitation_id=f"inv-{name}",
        code_hash=f"hash-{name}",
        subject=subject,
        role=role,
        tenant_id=None if role is Role.ADMIN else tenant_id,
        expires_at=at(expires_in),
        updated_at=at(0),
    )


def a_redemption(code: str = "one", *, key: str = "key-1") -> Redemption:
    return Redemption(
        code_hash=f"hash-{code}", identity_id=f"id-{key}", public_key=key, address="192.0.2.7", request_id="req-7"
    )


@pytest.fixture(autouse=True)
async def _tenants(world: World) -> None:
    for tenant_id in (NORTH, SOUTH):
        await edit(world, Edit(after=Tenant(tenant_id=tenant_id, tenant_key=f"~{tenant_id}", updated_at=at(0))))


async def test_codes_are_known_by_their_hashes_whether_or_not_they_can_still_be_used(world: World) -> None:
    await edit(world, Edit(after=a_code("one")))
    await edit(world, Edit(after=a_code("two", subject="eve", tenant_id=SOUTH)))
    assert await world.store.redeem(a_redemption("two"))
    asked = ["hash-one", "hash-two", "hash-three"]
    assert await world.store.known_codes(asked) == {"hash-one", "hash-two"}
    await world.advance(61)
    assert await world.store.known_codes(asked[:1]) == {"hash-one"}
    assert await world.store.known_codes([]) == set()


async def test_identities_of_any_tenant_are_found_by_their_ids_to_prove_what_they_signed(world: World) -> None:
    for name, tenant_id in (("one", NORTH), ("two", SOUTH)):
        await edit(world, Edit(after=a_code(name, subject=name, tenant_id=tenant_id)))
        assert await world.store.redeem(a_redemption(name, key=name))
    found = await world.store.proving(["id-one", "id-two", "id-three"])
    assert {name: each.subject for name, each in found.items()} == {"id-one": "one", "id-two": "two"}
    assert await world.store.proving([]) == {}


async def test_a_note_is_a_row_of_the_audit_of_its_tenant(world: World) -> None:
    told = {"route": "/v1/sites", "status": 422, "times": 3}
    row = Note(author=ADA, action="refused.tenant-differs", tenant_id=NORTH, object_id=ADA.subject, after=told)
    await world.store.write_note(row)
    [found] = await world.store.audit(AuditFilter(scope=NORTH, action="refused.tenant-differs"))
    assert (found.author, found.object_id, found.before, found.after) == (ADA, ADA.subject, None, told)
    assert await world.store.audit(AuditFilter(scope=SOUTH, action="refused.tenant-differs")) == []


async def edit(world: World, *edits: Edit) -> Any:
    outcome = await world.store.edit(edits, author=ADA)
    assert isinstance(outcome, Edited), outcome
    return outcome.things[0]


async def known(world: World, code: str = "one", *, key: str = "key-1", **fields: Any) -> Identity:
    await edit(world, Edit(after=a_code(code, **fields)))
    identity = await world.store.redeem(a_redemption(code, key=key))
    assert identity is not None
    return identity


async def test_a_code_gives_the_identity_that_it_was_made_for(world: World):
    identity = await known(world)
    assert identity == Identity(
        identity_id="id-key-1",
        subject="bob",
        role=Role.OPERATOR,
        tenant_id=NORTH,
        public_key="key-1",
        updated_at=at(0),
        revision=1,
    )
    assert await world.store.find_identity("id-key-1", scope=NORTH) == identity
    assert await world.store.find_identity("id-key-1", scope=SOUTH) is None


async def test_a_code_is_used_once(world: World):
    identity = await known(world)
    assert await world.store.redeem(a_redemption(key="key-2")) is None
    assert await world.store.redeem(a_redemption()) == identity  # its answer may have been lost
    assert await world.store.identities(EVERYONE) == [identity]


async def test_of_many_who_show_one_code_one_becomes_known(world: World):
    await edit(world, Edit(after=a_code()))
    async with world.another() as other:
        stores = (world.store, other) * 5
        got = await asyncio.gather(
            *(store.redeem(a_redemption(key=f"key-{number}")) for number, store in enumerate(stores))
        )
    assert sum(identity is not None for identity in got) == 1


@pytest.mark.parametrize("code", ["unknown", "late", "removed"])
async def test_a_code_that_is_worth_nothing_gives_nothing(world: World, code: str):
    await edit(world, Edit(after=a_code("late", expires_in=1)))
    removed = await edit(world, Edit(after=a_code("removed")))
    await edit(world, Edit(before=removed))
    await world.advance(1)
    assert await world.store.redeem(a_redemption(code)) is None
    assert await world.store.identities(EVERYONE) == []


async def test_only_codes_that_can_be_used_are_listed(world: World):
    await known(world)
    await edit(world, Edit(after=a_code("late", expires_in=1)))
    two = await edit(world, Edit(after=a_code("two")))
    three = await edit(world, Edit(after=a_code("three", role=Role.ADMIN)))
    await world.advance(1)
    assert await world.store.invitations(EVERYONE) == [three, two]
    assert await world.store.invitations(Page(scope=NORTH)) == [two]
    assert await world.store.invitations(EVERYONE, role=Role.ADMIN) == [three]
    assert await world.store.invitations(EVERYONE, subject="eve") == []
    assert await world.store.invitations(Page(scope=None, after="inv-three")) == [two]
    assert await world.store.find_invitation("inv-three", scope=NORTH) is None


async def test_becoming_known_is_in_the_audit(world: World):
    await known(world)
    row = (await world.store.audit(AuditFilter(scope=NORTH)))[0]
    assert (row.action, row.object_id, row.author.subject) == ("identity.created", "id-key-1", "bob")
    assert (row.author.address, row.author.request_id) == ("192.0.2.7", "req-7")


async def test_a_runner_is_known_by_its_newest_key_only(world: World):
    first = await known(world, role=Role.RUNNER, subject="runner-1")
    await with_runners(world.store, RUNNER)
    second = await known(world, "two", key="key-2", role=Role.RUNNER, subject="runner-1")
    old = await world.store.find_identity(first.identity_id, scope=None)
    assert old is not None
    assert not old.is_live
    assert second.is_live
    assert await world.store.heartbeat(RUNNER) == Denied(DenialReason.INCARNATION_ENDED)


async def test_of_two_codes_of_one_runner_at_once_one_key_stays(world: World):
    await edit(world, *(Edit(after=a_code(name, role=Role.RUNNER, subject="runner-1")) for name in ("one", "two")))
    async with world.another() as other:
        await asyncio.gather(world.store.redeem(a_redemption("one")), other.redeem(a_redemption("two", key="key-2")))
    assert sum(each.is_live for each in await world.store.identities(EVERYONE)) == 1


@pytest.mark.parametrize("other", [SOUTH, None])
async def test_a_code_of_one_tenant_takes_no_runner_of_another(world: World, other: TenantId | None):
    await edit(world, Edit(after=a_code("two", role=Role.RUNNER, subject="runner-1", tenant_id=other)))
    first = await known(world, role=Role.RUNNER, subject="runner-1")
    assert await world.store.redeem(a_redemption("two", key="key-2")) is None
    assert await world.store.identities(EVERYONE) == [first]
    assert [each.invitation_id for each in await world.store.invitations(EVERYONE)] == ["inv-two"]


async def test_a_code_of_a_tenant_that_is_gone_gives_nothing(world: World):
    await edit(world, Edit(after=a_code()))
    tenant = await world.store.find_tenant(NORTH, scope=None)
    await edit(world, Edit(before=tenant))
    assert await world.store.redeem(a_redemption()) is None


async def test_a_person_may_have_several_keys(world: World):
    first = await known(world)
    second = await known(world, "two", key="key-2")
    assert await world.store.identities(EVERYONE) == [first, second]
    assert await world.store.identities(EVERYONE, subject="ada") == []
    assert await world.store.identities(Page(scope=None, limit=1)) == [first]


async def test_revoking_a_runner_ends_its_incarnation_and_lets_its_leases_run_out(world: World):
    identity = await known(world, role=Role.RUNNER, subject="runner-1")
    await with_cameras(world.store)
    await with_runners(world.store, RUNNER)
    lease = await take(world.store, RUNNER)
    await edit(world, Edit(before=identity, after=replace(identity, revoked_at=at(0))))
    assert await world.store.heartbeat(RUNNER) == Denied(DenialReason.INCARNATION_ENDED)
    kept = await world.store.find(lease.camera_id)
    assert kept is not None
    assert (kept.owner, kept.expires_at) == (RUNNER, lease.expires_at)


async def test_doubts_are_those_who_changed(world: World):
    first = await known(world)
    second = await known(world, "two", key="key-2")
    assert await world.store.doubts() == []
    await edit(world, Edit(before=first, after=replace(first, role=Role.VIEWER)))
    [doubt] = await world.store.doubts()
    assert (doubt.identity_id, doubt.revision, doubt.is_live, doubt.has_heir) == ("id-key-1", 2, True, True)
    changed = await world.store.find_identity("id-key-1", scope=None)
    assert changed is not None
    await edit(world, Edit(before=changed, after=replace(changed, revoked_at=at(0))))
    [doubt] = await world.store.doubts()
    assert (doubt.is_live, doubt.has_heir, doubt.subject, doubt.tenant_id) == (False, True, "bob", NORTH)
    await edit(world, Edit(before=second, after=replace(second, revoked_at=at(0))))
    assert [doubt.has_heir for doubt in await world.store.doubts()] == [False, False]


@pytest.mark.parametrize(("role", "is_admin"), [(Role.ADMIN, True), (Role.OPERATOR, False)])
async def test_there_is_an_admin_once_one_is_known(world: World, role: Role, is_admin: bool):
    assert not await world.store.has_admin()
    identity = await known(world, role=role)
    assert await world.store.has_admin() is is_admin
    await edit(world, Edit(before=identity, after=replace(identity, revoked_at=at(0))))
    assert not await world.store.has_admin()
