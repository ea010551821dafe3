"""Listening to a control plane on virtual_time: what is told, in what order, to whom, until when, and at whose cost."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from streamward.control.api.hearing import ALIVE_EVERY, SEND_WITHIN, ListenerCut
from streamward.control.feed import MOST_LISTENERS, PAGE, POLL_EVERY, REMEMBERED
from streamward.drivers.memory import MemoryInsight
from streamward.drivers.memory.insight import MemoryBroadcasts
from streamward.insight.broadcasts import Broadcast
from streamward.leases.store import StoreUnavailable
from streamward.model.identity import Role
from streamward.model.ids import RunnerId, TenantId
from streamward.runtime.virtual_time import run
from tests.support.app import ControlUnderTest
from tests.support.broadcasts import broadcast
from tests.support.ears import socketed, streaming

OURS, THEIRS = TenantId("t-01"), TenantId("t-02")
NEW, BATCH = "detection.new", "detection.batch"


class CountedBroadcasts(MemoryBroadcasts):
    """Knows how often it was asked, and can be away."""

    asked = 0
    is_away = False

    async def after(self, seq: int, *, scope: TenantId | None, limit: int) -> list[Broadcast]:
        self.asked += 1
        if self.is_away:
            raise StoreUnavailable
        return await super().after(seq, scope=scope, limit=limit)


class Listened(ControlUnderTest):
    """A control plane with something to hear."""

    def __init__(self) -> None:
        super().__init__(insight=self._counted)

    def _counted(self, memory: MemoryInsight) -> MemoryInsight:
        memory.broadcasts = self.broadcasts = CountedBroadcasts(self.database)
        return memory

    def token(self, tenant: str | None = OURS) -> str:
        self.person(Role.VIEWER, tenant=tenant)
        return self.mint.person("ada", role=Role.VIEWER, tenant_id=None if tenant is None else TenantId(tenant))

    async def tell(self, *numbers: int, kind: str = NEW, tenant: TenantId = OURS, camera: str = "cam-1") -> None:
        bodies = [f'{{"detection_id":{number},"camera_id":"{camera}"}}' for number in numbers]
        self.person(Role.VIEWER, tenant=tenant)
        await broadcast(self.insight, tenant, kind, bodies)


def listening(scene: Callable[[Listened], Awaitable[None]]) -> None:
    run(_played(scene))


async def _played(scene: Callable[[Listened], Awaitable[None]]) -> None:
    await scene(Listened())


def numbers(events: list[tuple[str, dict[str, Any]]]) -> list[int]:
    return [body["detection_id"] for _, body in events if "detection_id" in body]


def test_what_happens_is_told_as_it_happens_and_nothing_from_before() -> None:
    async def scene(control: Listened) -> None:
        await control.tell(1)
        async with streaming(control, token=control.token()) as ear:
            await control.tell(2, 3)
            await control.tell(4, kind=BATCH)
            await ear.until(3)
            assert numbers(ear.events) == [2, 3, 4]
            assert [kind for kind, _ in ear.events] == [NEW, NEW, BATCH]
            assert ear.ids == [2, 3, 4]
            assert 'id: 2\nevent: detection.new\ndata: {"detection_id":2,"camera_id":"cam-1"}\n\n' in ear.text

    listening(scene)


@pytest.mark.parametrize("query", [{"after": 2}, {"headers": {"last-event-id": "2"}}])
def test_whoever_comes_again_goes_on_after_the_last_that_was_heard(query: dict[str, Any]) -> None:
    async def scene(control: Listened) -> None:
        await control.tell(1, 2, 3, 4)
        async with streaming(control, token=control.token(), timeout_s=0, **query) as ear:
            await ear.until(3)
            assert (ear.ids, ear.events[-1]) == ([3, 4], ("end", {"reason": "time-over"}))

    listening(scene)


def test_what_a_browser_says_wins_over_the_address_that_it_was_given_first() -> None:
    async def scene(control: Listened) -> None:
        await control.tell(1, 2, 3, 4)
        headers = {"last-event-id": "3"}
        async with streaming(control, token=control.token(), headers=headers, after=1, timeout_s=0) as ear:
            await ear.until(2)
            assert ear.ids == [4]

    listening(scene)


def test_nobody_hears_another_tenant_and_the_installation_hears_all() -> None:
    async def scene(control: Listened) -> None:
        async with (
            streaming(control, token=control.token(OURS)) as ours,
            streaming(control, token=control.token(THEIRS)) as theirs,
            streaming(control, token=control.token(None)) as everyone,
        ):
            await control.tell(1, tenant=OURS)
            await control.tell(2, tenant=THEIRS)
            for ear, count in ((ours, 1), (theirs, 1), (everyone, 2)):
                await ear.until(count)
            assert [numbers(ear.events) for ear in (ours, theirs, everyone)] == [[1], [2], [1, 2]]
        async with streaming(control, token=control.token(THEIRS), after=0, timeout_s=0) as theirs:
            await theirs.until(2)
            assert numbers(theirs.events) == [2]

    listening(scene)


@pytest.mark.parametrize(("query", "heard"), [({"camera_uuid": "cam-2"}, [2, 3]), ({"kind": BATCH}, [3])])
@pytest.mark.parametrize("is_live", [True, False])
def test_only_what_is_wanted_is_told(query: dict[str, Any], heard: list[int], is_live: bool) -> None:
    async def tell(control: Listened) -> None:
        await control.tell(1)
        await control.tell(2, camera="cam-2")
        await control.tell(3, camera="cam-2", kind=BATCH)

    async def scene(control: Listened) -> None:
        if not is_live:
            await tell(control)
        after: dict[str, Any] = {} if is_live else {"after": 0}
        async with streaming(control, token=control.token(), **query, **after) as ear:
            if is_live:
                await asyncio.sleep(1)
                await tell(control)
            await ear.until(len(heard))
            assert numbers(ear.events) == heard

    listening(scene)


def test_the_database_is_asked_once_for_all_and_only_while_somebody_listens() -> None:
    async def scene(control: Listened) -> None:
        async with contextlib.AsyncExitStack() as ears:
            for _ in range(50):
                await ears.enter_async_context(streaming(control, token=control.token()))
            await asyncio.sleep(1)
            before = control.broadcasts.asked
            await asyncio.sleep(10)
            assert 10 / POLL_EVERY * 0.8 <= control.broadcasts.asked - before <= 10 / POLL_EVERY + 1
        before = control.broadcasts.asked
        await asyncio.sleep(10)
        assert control.broadcasts.asked == before

    listening(scene)


def test_a_reader_that_takes_nothing_holds_up_nobody_and_is_cut_off() -> None:
    async def scene(control: Listened) -> None:
        cut = asyncio.ensure_future(control.journal.first(ListenerCut, within=1000))
        async with (
            streaming(control, token=control.token()) as deaf,
            streaming(control, token=control.token()) as ear,
        ):
            deaf.is_deaf = True
            for number in range(20):
                await control.tell(number)
                await asyncio.sleep(1)
            assert numbers(ear.events) == list(range(20))
            assert not cut.done()
            await asyncio.sleep(SEND_WITHIN)
            assert ((await cut).subject, (await cut).address) == ("ada", "192.0.2.9")

    listening(scene)


def test_whoever_was_away_for_long_is_told_all_that_is_kept() -> None:
    async def scene(control: Listened) -> None:
        many = REMEMBERED + 3 * PAGE + 1
        async with streaming(control, token=control.token()):
            await control.tell(*range(1, many + 1))
            await asyncio.sleep(10)
            async with streaming(control, token=control.token(), after=0, timeout_s=0) as late:
                await late.until(many + 1)
                assert late.ids == list(range(1, many + 1))

    listening(scene)


def test_whoever_was_away_for_too_long_is_told_what_it_missed() -> None:
    async def scene(control: Listened) -> None:
        await control.tell(*range(1, 10))
        control.clock.advance(100)
        await control.tell(10)
        await control.broadcasts.prune(kept=50, limit=100)
        async with streaming(control, token=control.token(), after=3, timeout_s=0) as ear:
            await ear.until(3)
            assert ear.events[0] == ("missed", {"after": 3, "next": 10})
            assert ear.ids == [10]

    listening(scene)


def test_a_number_that_was_never_told_here_is_said_to_be_missed() -> None:
    async def scene(control: Listened) -> None:
        await control.tell(1, 2)
        async with streaming(control, token=control.token(), after=99) as ear:
            await ear.until(1)
            assert ear.events == [("missed", {"after": 99, "next": 3})]
            await control.tell(3)
            await ear.until(2)
            assert ear.ids == [3]

    listening(scene)


def test_a_database_that_is_away_for_a_moment_is_not_noticed() -> None:
    async def scene(control: Listened) -> None:
        async with streaming(control, token=control.token()) as ear:
            await asyncio.sleep(1)
            control.broadcasts.is_away = True
            await control.tell(1)
            await asyncio.sleep(3)
            assert ear.events == []
            control.broadcasts.is_away = False
            await ear.until(1)
            assert ear.ids == [1]

    listening(scene)


def test_whoever_needs_a_database_that_is_away_is_told_so() -> None:
    async def scene(control: Listened) -> None:
        await control.tell(1)
        control.broadcasts.is_away = True
        async with streaming(control, token=control.token(), after=0) as ear:
            await ear.until(1)
            assert ear.events == [("end", {"reason": "store-unavailable"})]

    listening(scene)


def test_silence_is_broken_before_a_proxy_takes_it_for_death() -> None:
    async def scene(control: Listened) -> None:
        async with streaming(control, token=control.token()) as ear:
            await asyncio.sleep(3 * ALIVE_EVERY + 7)
            assert ear.text.count(": alive\n\n") == 3

    listening(scene)


def test_a_token_that_counts_no_more_ends_the_listening() -> None:
    async def scene(control: Listened) -> None:
        async with streaming(control, token=control.token()) as ear:
            await asyncio.sleep(5)
            control.clock.advance(15 * 60)
            await ear.until(1)
            assert ear.events == [("end", {"reason": "token-expired"})]
            await control.tell(1)
            await asyncio.sleep(5)
            assert ear.ids == []

    listening(scene)


def test_a_control_plane_that_stops_says_so() -> None:
    async def scene(control: Listened) -> None:
        async with streaming(control, token=control.token()) as ear:
            control.bell.close()
            await ear.until(1)
            assert ear.events == [("end", {"reason": "stopping"})]

    listening(scene)


async def test_a_stream_counts_as_answered_when_it_begins() -> None:
    control = Listened()
    async with streaming(control, token=control.token()):
        control.clock.advance(600)
    page = (await control.operator().get("/metrics")).text.splitlines()
    (total,) = [line for line in page if "duration_seconds_sum" in line and "/v1/events/stream" in line]
    assert total.endswith(" 0.0")


def test_one_listener_too_many_of_a_tenant_is_refused_and_others_are_not() -> None:
    async def scene(control: Listened) -> None:
        async with contextlib.AsyncExitStack() as ears:
            for _ in range(MOST_LISTENERS):
                await ears.enter_async_context(streaming(control, token=control.token()))
            refused = await control.person(Role.VIEWER, tenant=OURS).get("/v1/events/stream", timeout_s=0)
            assert (refused.status_code, refused.json()["reason"]) == (429, "too-many-listeners")
            theirs = await control.person(Role.VIEWER, tenant=THEIRS).get("/v1/events/stream", timeout_s=0)
            assert theirs.status_code == 200
        again = await control.person(Role.VIEWER, tenant=OURS).get("/v1/events/stream", timeout_s=0)
        assert again.status_code == 200

    listening(scene)


@pytest.mark.parametrize("in_header", [True, False])
def test_the_same_comes_over_a_web_socket(in_header: bool) -> None:
    async def scene(control: Listened) -> None:
        await control.tell(1)
        async with socketed(control, token=control.token(), in_header=in_header, after=0, timeout_s=3) as ear:
            await control.tell(2)
            await ear.until(3)
            assert ear.sent[0] == {"type": "websocket.accept", "subprotocol": "streamward.events", "headers": []}
            assert ear.messages[0] == {"id": 1, "event": NEW, "data": {"detection_id": 1, "camera_id": "cam-1"}}
            assert ear.messages[1]["id"] == 2
            assert ear.messages[2] == {"id": None, "event": "end", "data": {"reason": "time-over"}}
            await asyncio.sleep(1)
            assert ear.sent[-1] == {"type": "websocket.close", "code": 1000, "reason": "time-over"}

    listening(scene)


@pytest.mark.parametrize(
    ("bearer", "query", "status"),
    [
        (None, {}, 401),
        ("runner", {}, 403),
        ("viewer", {"kind": "detection.old"}, 422),
        ("viewer", {"after": -1}, 422),
    ],
)
def test_a_web_socket_is_refused_as_any_other_call(bearer: str | None, query: dict[str, Any], status: int) -> None:
    async def scene(control: Listened) -> None:
        tokens = {"runner": control.mint.runner(RunnerId("r1")), "viewer": control.token()}
        async with socketed(control, token=tokens.get(bearer or ""), **query) as ear:
            await asyncio.sleep(1)
        start, body = ear.sent
        assert (start["type"], start["status"]) == ("websocket.http.response.start", status)
        assert b"problem" in dict(start["headers"])[b"content-type"]
        assert b"reason" in body["body"]

    listening(scene)


def test_a_web_socket_whose_token_counts_no_more_is_closed_with_the_reason() -> None:
    async def scene(control: Listened) -> None:
        async with socketed(control, token=control.token()) as ear:
            control.clock.advance(15 * 60)
            await ear.until(1)
            await asyncio.sleep(1)
            assert ear.sent[-1] == {"type": "websocket.close", "code": 1008, "reason": "token-expired"}

    listening(scene)
