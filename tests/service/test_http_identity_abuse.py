"""What somebody who means ill tries with identities, codes and the routes that are open to everyone."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from streamward.control.admission import Admission
from streamward.control.clerk import Clerk
from streamward.control.gate import Crowded, Gate
from streamward.control.standing import KnownStanding
from streamward.control.tenant_purger import LOOK_EVERY, TenantPurger
from streamward.control.tokens import TokenFault
from streamward.drivers.memory import MemoryStore
from streamward.model.identity import Author, Role
from streamward.model.ids import TenantId
from streamward.model.register import Doubt, Edit
from streamward.model.tenant import HOLD_NAME_FOR
from streamward.protocol.tokens import AUDIENCE, ISSUER, Claims
from tests.support.app import KEYRING, Client, ControlUnderTest
from tests.support.identities import Somebody, become_known, invited

RUNNER: dict[str, Any] = {"subject": "r1", "role": "runner"}


@pytest.fixture
async def control() -> ControlUnderTest:
    control = await ControlUnderTest().with_cameras("cam-1")
    return await control.with_cameras("cam-2", site="site-b", tenant="t-02")


@pytest.fixture
def admin(control: ControlUnderTest) -> Client:
    return control.person(Role.ADMIN)


class Overtaken:
    """A store in which somebody is quicker, once, than the next edit."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.first: Callable[[], Awaitable[object]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def edit(self, edits: Sequence[Edit], *, author: Author, **named: Any) -> object:
        first, self.first = self.first, None
        if first is not None:
            await first()
        return await self._store.edit(edits, author=author, **named)


async def test_a_namesake_of_another_tenant_is_somebody_else(control: ControlUnderTest, admin: Client) -> None:
    theirs = await become_known(control, admin, role="admin", tenant_id="t-01")
    namesake = await become_known(control, admin, role="viewer")  # of the whole installation, and sees all tenants
    client = await namesake.client()
    assert (await client.delete(f"/v1/identities/{theirs.pair.identity_id}")).status_code == 404
    assert (await theirs.ask()).status_code == 200


async def test_an_operator_learns_and_ends_only_codes_of_runners(control: ControlUnderTest, admin: Client) -> None:
    await invited(admin, role="admin")
    await invited(admin, **RUNNER)
    [person] = [each for each in (await admin.get("/v1/invitations")).json()["items"] if each["role"] == "admin"]
    operator = control.operator()
    [runner] = (await operator.get("/v1/invitations")).json()["items"]
    assert runner["subject"] == "r1"
    absent = await operator.delete("/v1/invitations/none")
    refused = await operator.delete(f"/v1/invitations/{person['invitation_id']}")
    assert (refused.status_code, refused.text) == (404, absent.text)
    assert (await operator.delete(f"/v1/invitations/{runner['invitation_id']}")).status_code == 200


async def test_a_revoked_runner_does_not_come_back_by_an_older_code(control: ControlUnderTest, admin: Client) -> None:
    await become_known(control, admin, **RUNNER)
    code = await invited(admin, **RUNNER)
    await control.operator().post("/v1/runners/r1/revoke")
    assert (await Somebody(control).redeem(code)).status_code == 403


async def test_a_runner_that_becomes_known_again_meanwhile_is_revoked_too() -> None:
    overtaken: list[Overtaken] = []

    def wrapped(memory: MemoryStore) -> Any:
        overtaken.append(Overtaken(memory))
        return overtaken[0]

    control = ControlUnderTest(store=wrapped)
    admin = control.person(Role.ADMIN)
    await become_known(control, admin, **RUNNER)
    thief, code = Somebody(control), await invited(admin, **RUNNER)
    overtaken[0].first = lambda: thief.redeem(code)
    assert (await admin.post("/v1/runners/r1/revoke")).status_code == 200
    assert (await thief.ask(incarnation="inc-1")).status_code == 401


async def test_with_a_tenant_go_its_people_runners_and_codes(control: ControlUnderTest, admin: Client) -> None:
    await admin.post("/v1/tenants", {"tenant_id": "t-03"})
    bob = await become_known(control, admin, role="admin", tenant_id="t-03")
    client = await bob.client()
    code = await invited(admin, subject="eve", tenant_id="t-03")
    assert (await admin.delete("/v1/tenants/t-03", if_match="*")).status_code == 202
    purger = TenantPurger(control.store, control.journal)
    while await purger.tick() < LOOK_EVERY:
        pass
    control.clock.advance(HOLD_NAME_FOR)
    await purger.tick()
    assert (await admin.post("/v1/tenants", {"tenant_id": "t-03"})).status_code == 201  # another one gets the name
    assert (await client.get("/v1/cameras")).json()["reason"] == "token-tenant-gone"
    assert (await bob.ask()).status_code == 401
    assert (await Somebody(control).redeem(code)).status_code == 403


async def test_a_code_that_a_start_told_ends_with_the_first_admin(control: ControlUnderTest, admin: Client) -> None:
    clerk = Clerk(control.store, digest_keys=lambda: KEYRING.derive("once"))
    admission = Admission(control.store, clerk=clerk, mint=control.mint, clock=control.clock)
    told = (await admission.invite_first()).reveal()  # it may stand in a log
    await become_known(control, admin, role="admin", tenant_id="t-01")
    assert len((await admin.get("/v1/invitations")).json()["items"]) == 1
    await become_known(control, admin, subject="admin", role="admin")
    assert (await Somebody(control).redeem(told)).status_code == 403


async def test_a_slow_reading_does_not_bring_back_what_was_known_before(control: ControlUnderTest) -> None:
    doubt = Doubt(
        identity_id="id-1",
        revision=2,
        is_live=False,
        subject="bob",
        tenant_id=TenantId("t-01"),
        is_runner=False,
        has_heir=False,
    )
    answers: list[asyncio.Future[list[Doubt]]] = [asyncio.Future(), asyncio.Future()]
    asked = iter(answers)

    class Slow(MemoryStore):
        async def doubts(self) -> list[Doubt]:
            return await next(asked)

    standing = KnownStanding(Slow(control.database, clock=control.clock, bell=control.bell), clock=control.clock)
    slow, quick = asyncio.create_task(standing.tick()), asyncio.create_task(standing.tick())
    answers[1].set_result([doubt])
    await quick
    answers[0].set_result([])
    await slow
    claims = Claims(iss=ISSUER, aud=AUDIENCE, sub="bob", role=Role.VIEWER, iat=0, exp=1, idn="id-1", rev=1)
    assert standing.fault(claims) is TokenFault.REVOKED


async def test_strangers_are_served_one_at_a_time_and_not_kept_waiting_without_end() -> None:
    gate, inside, ended = Gate(waiting=2), [0], asyncio.Event()

    async def come() -> None:
        async with gate.passed():
            inside[0] += 1
            assert inside[0] == 1
            await ended.wait()
            inside[0] -= 1

    first = asyncio.create_task(come())
    await asyncio.sleep(0)
    others = [asyncio.create_task(come()) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Crowded, match="try again"):
        await come()
    ended.set()
    await asyncio.gather(first, *others)
    await come()
