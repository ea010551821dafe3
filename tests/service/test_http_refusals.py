"""Wrong codes and assertions are limited, the right ones never; refusals are counted, logged and audited."""

import asyncio
from typing import Any

import pytest

from streamward.control.lookups import MOST, Lookups
from streamward.control.refusals import OF_ADDRESS, OF_ALL, WATCHED, CallsRefused
from streamward.drivers.memory import MemoryStore
from streamward.leases.store import StoreUnavailable
from streamward.model.identity import Role
from streamward.model.ids import RunnerId
from streamward.protocol.problem import Problem
from tests.support.app import ControlUnderTest
from tests.support.ears import socketed
from tests.support.identities import Somebody, become_known, invited

BURST = int(OF_ADDRESS.burst)
RUNNER: dict[str, Any] = {"subject": "r1", "role": "runner"}


@pytest.fixture
async def control() -> ControlUnderTest:
    return await ControlUnderTest().with_cameras("cam-1")


async def guess(control: ControlUnderTest, number: int = 0) -> Any:
    body = {"code": f"AAAA-{number}", "public_key": "A" * 43}
    return await control.anyone().post("/v1/identities", body)


async def wrong(control: ControlUnderTest) -> Any:
    return await control.anyone().post("/v1/tokens", {"assertion": "x.y.z"})


async def counted(control: ControlUnderTest) -> dict[str, float]:
    page = (await control.operator().get("/metrics")).text
    rows = [line for line in page.splitlines() if line.startswith("refusals_total")]
    return {line.split('"')[1]: float(line.rpartition(" ")[2]) for line in rows if not line.endswith(" 0.0")}


async def audited(control: ControlUnderTest, **query: str) -> list[dict[str, Any]]:
    await control.app.state.refusals.tick()
    rows = (await control.person(Role.ADMIN).get("/v1/audit", **query)).json()["items"]
    return [row for row in rows if row["action"].startswith("refused.")]


@pytest.mark.parametrize(("attempt", "status"), [(guess, 403), (wrong, 401)])
async def test_wrong_ones_are_refused_as_such_a_few_times_and_then_429(
    control: ControlUnderTest, attempt: Any, status: int
) -> None:
    statuses = [(await attempt(control)).status_code for _ in range(BURST + 5)]
    assert statuses == [status] * BURST + [429] * 5
    refused = await attempt(control)
    assert refused.json()["reason"] == "too-many-attempts"
    assert int(refused.headers["retry-after"]) == 6
    control.clock.advance(6.1)
    assert (await attempt(control)).status_code == status


async def test_the_right_code_and_assertion_are_taken_however_many_wrong_ones_came(control: ControlUnderTest) -> None:
    admin = control.person(Role.ADMIN)
    known = await become_known(control, admin, role="operator", subject="bob")
    code = await invited(admin, **RUNNER)
    guesses = [guess(control, number) for number in range(1000)]
    asked = [known.ask() for _ in range(20)]
    redeemed, *answers = await asyncio.gather(Somebody(control).redeem(code), *asked, *guesses)
    assert redeemed.status_code == 201
    assert {answer.status_code for answer in answers[:20]} == {200}
    assert {answer.status_code for answer in answers[20:]} == {403, 429}
    assert [answer.status_code for answer in answers].count(403) == BURST


async def test_a_code_that_was_used_cannot_crowd_out_others(control: ControlUnderTest) -> None:
    admin = control.person(Role.ADMIN)
    used, right = await invited(admin, subject="r1", role="runner"), await invited(admin, subject="r2", role="runner")
    assert (await Somebody(control).redeem(used)).status_code == 201
    repeats = [Somebody(control).redeem(used) for _ in range(400)]
    answers = await asyncio.gather(*repeats, Somebody(control).redeem(right))
    assert answers[-1].status_code == 201


async def test_all_addresses_together_are_limited_too(control: ControlUnderTest) -> None:
    refusals = control.app.state.refusals
    problem = (await guess(control)).json()
    answers = [
        refusals.limited(_problem(problem), address=f"2001:db8:{number:x}::1").status
        for number in range(int(OF_ALL.burst) + 10)
    ]
    assert answers.count(429) == 11
    assert answers[-11:] == [429] * 11


async def test_addresses_of_one_ipv6_network_are_one(control: ControlUnderTest) -> None:
    refusals, problem = control.app.state.refusals, _problem((await guess(control)).json())
    answers = [refusals.limited(problem, address=f"2001:db8::{number:x}").status for number in range(BURST + 1)]
    assert answers == [403] * BURST + [429]
    assert refusals.limited(problem, address="not an address").status == 403


def _problem(told: dict[str, Any]) -> Any:
    return Problem(**{name: told[name] for name in ("title", "status", "detail", "reason")})


async def test_refusals_are_counted_by_reason_and_shown_before_the_first(control: ControlUnderTest) -> None:
    page = (await control.operator().get("/metrics")).text
    assert all(f'refusals_total{{reason="{reason}"}} 0.0' in page for reason in WATCHED)
    await control.operator().post("/v1/tenants", {"tenant_id": "t-9"})
    await control.operator().post("/v1/sites", {"site_id": "new"})
    await control.operator(tenant="t-01").post("/v1/sites", {"site_id": "t-01-new", "tenant_id": "t-02"})
    await control.operator(tenant="t-01").post("/v1/sites", {"site_id": "new"})
    await control.runner("r2").post("/v1/runners/heartbeat", {"runner_id": "r1", "streams_owned": 0})
    for _ in range(BURST + 2):
        await guess(control)
    assert await counted(control) == {
        "wrong-role": 1,
        "tenant-needed": 1,
        "tenant-differs": 1,
        "id-outside-tenant": 1,
        "wrong-runner": 1,
        "code-refused": BURST,
        "too-many-attempts": 2,
    }


@pytest.mark.parametrize("in_header", [True, False])
async def test_a_refused_web_socket_is_counted_and_audited_as_well(control: ControlUnderTest, in_header: bool) -> None:
    token = control.mint.runner(RunnerId("r1"))
    async with socketed(control, token=token, in_header=in_header) as listener:
        assert listener.sent[0]["status"] == 403
    assert await counted(control) == {"wrong-role": 1}
    [row] = await audited(control)
    assert (row["action"], row["subject"], row["address"]) == ("refused.wrong-role", "r1", "192.0.2.9")
    assert row["after"] == {"route": "/v1/events/socket", "status": 403, "times": 1}


async def test_a_refusal_of_somebody_known_is_in_the_audit_of_their_tenant(control: ControlUnderTest) -> None:
    await control.operator(tenant="t-01").post("/v1/sites", {"site_id": "t-01-new", "tenant_id": "t-02"})
    [row] = await audited(control)
    assert (row["action"], row["subject"], row["tenant_id"]) == ("refused.tenant-differs", "ada", "t-01")
    assert row["after"] == {"route": "/v1/sites", "status": 422, "times": 1}
    seen = await control.person(Role.ADMIN, tenant="t-02").get("/v1/audit")
    assert seen.json()["items"] == []


async def test_an_attack_writes_one_line_and_one_row_a_minute_with_its_number(control: ControlUnderTest) -> None:
    lines: list[CallsRefused] = []
    control.journal.subscribe(lambda fact: lines.append(fact) if isinstance(fact, CallsRefused) else None)
    for _ in range(15):
        await guess(control)
    assert [(line.reason, line.subject, line.address, line.times) for line in lines] == [
        ("code-refused", "anonymous", "127.0.0.1", 1)
    ]
    assert [row["after"]["times"] for row in await audited(control, action="refused.code-refused")] == [1]
    control.clock.advance(61)
    await guess(control)
    assert [line.times for line in lines] == [1, 15]
    assert [row["after"]["times"] for row in await audited(control, action="refused.code-refused")] == [15, 1]


async def test_an_attack_that_ends_is_reported_with_its_number_a_minute_later(control: ControlUnderTest) -> None:
    lines: list[CallsRefused] = []
    control.journal.subscribe(lambda fact: lines.append(fact) if isinstance(fact, CallsRefused) else None)
    for _ in range(15):
        await guess(control)
    control.clock.advance(61)
    rows = await audited(control, action="refused.code-refused")
    assert [(line.route, line.subject, line.times) for line in lines] == [
        ("/v1/identities", "anonymous", 1),
        ("/v1/identities", "anonymous", 14),
    ]
    assert [row["after"]["times"] for row in rows] == [14, 1]
    assert len(await audited(control, action="refused.code-refused")) == 2
    control.clock.advance(61)
    assert len(await audited(control, action="refused.code-refused")) == 2


async def test_rows_that_cannot_be_written_now_are_written_later() -> None:
    class Away:
        """A store that does not take notes for now."""

        def __init__(self, store: MemoryStore) -> None:
            self._store = store
            self.is_away = True

        def __getattr__(self, name: str) -> Any:
            return getattr(self._store, name)

        async def write_note(self, note: Any) -> None:
            if self.is_away:
                raise StoreUnavailable
            await self._store.write_note(note)

    stores: list[Away] = []

    def around(store: MemoryStore) -> Any:
        stores.append(Away(store))
        return stores[0]

    control = ControlUnderTest(store=around)
    await guess(control)
    with pytest.raises(StoreUnavailable):
        await control.app.state.refusals.tick()
    stores[0].is_away = False
    assert len(await audited(control)) == 1


async def test_lookups_of_many_are_few_queries_and_each_was_read_after_it_was_asked_for() -> None:
    queries: list[int] = []
    may_answer = asyncio.Event()

    async def find(keys: Any) -> dict[str, str]:
        queries.append(len(keys))
        await may_answer.wait()
        return {key: key for key in keys if key != "none"}

    lookups = Lookups(find)
    first = asyncio.ensure_future(lookups.find("a"))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    others = [asyncio.ensure_future(lookups.find(f"k{number}")) for number in range(MOST + 5)]
    gone = asyncio.ensure_future(lookups.find("none"))
    await asyncio.sleep(0)
    gone.cancel()
    may_answer.set()
    assert await first == "a"
    assert (await asyncio.gather(*others))[-1] == f"k{MOST + 4}"
    assert queries == [1, MOST, 6]
    assert await lookups.find("none") is None


async def test_a_database_that_is_away_is_told_to_all_who_look_something_up() -> None:
    async def find(_keys: Any) -> dict[str, str]:
        raise StoreUnavailable

    lookups = Lookups(find)
    answers = await asyncio.gather(lookups.find("a"), lookups.find("b"), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 2
