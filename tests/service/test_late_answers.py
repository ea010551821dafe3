"""Every answer of the control plane comes seconds late: each call of a runner still does its work."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import msgspec
import pytest

from streamward.leases.lease import Owner
from streamward.leases.logins import LoginId, LoginOutcome, Permission
from streamward.model.ids import CameraId, Generation, Incarnation, RunnerId, SiteId
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import RegisterRunner
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.ticket import ReleaseTicket, ReleaseTokenGiven
from streamward.runner.alone import Alone, AloneParts
from streamward.runner.dial_tokens import DialTokens
from streamward.runner.ending import Ending
from streamward.runner.greeting import greet
from streamward.runner.known import KnownCameras
from streamward.runner.logins import ControlLogins
from streamward.runner.parts import LastWord
from streamward.runner.ticket_keeper import TicketKeeper
from streamward.runtime import virtual_time
from streamward.runtime.journal import Journal
from streamward.runtime.service import ticking
from tests.support.app import ControlUnderTest
from tests.support.clocks import LoopClock
from tests.support.granted import a_source, granted
from tests.support.links import LateLink
from tests.support.streams import a_report

ONE, TWO = CameraId("cam-1"), CameraId("cam-2")
SITE = SiteId("site-a")
OWNER = Owner(RunnerId("r1"), Incarnation("inc-1"))
LOGIN = LoginId("a" * 64)
Body = Callable[[ControlUnderTest, LateLink], Coroutine[Any, Any, None]]

lateness = pytest.mark.parametrize("late", [0.0, 1.5, 4.0])


async def never() -> None:
    await asyncio.Event().wait()


def run(late: float, body: Body, *, is_holding: bool = True) -> None:
    """Runs it for a registered runner, which holds both cameras if it should."""

    async def story() -> None:
        control = await ControlUnderTest().with_cameras(ONE, TWO)
        client = control.runner("r1")
        await client.post("/v1/runners/register", {"runner_id": "r1"})
        for camera_id in (ONE, TWO) if is_holding else ():
            lease = {"runner_id": "r1", "camera_uuid": camera_id, "ttl_seconds": 600}
            assert (await client.post("/v1/leases/camera/acquire", lease)).status_code == 200
        await body(control, LateLink(control, late=late))

    virtual_time.run(story())


@lateness
def test_a_runner_is_let_in(late: float) -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        message = RegisterRunner(runner_id="r1", incarnation="inc-1")
        assert await greet(link, message, url="http://there", ended=never)
        assert asyncio.get_running_loop().time() < late + 0.1

    run(late, body)


def test_a_runner_that_waits_to_be_let_in_ends_at_once_when_it_is_told_to() -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        message, told = RegisterRunner(runner_id="r1", incarnation="inc-1"), asyncio.Event()

        async def ended() -> None:
            await told.wait()

        asyncio.get_running_loop().call_later(0.5, told.set)
        assert not await greet(link, message, url="http://there", ended=ended)
        assert asyncio.get_running_loop().time() < 0.6

    run(9.0, body)


@lateness
def test_sources_and_sites_are_read(late: float) -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        known = KnownCameras(link)
        known.granted(msgspec.structs.replace(granted(a_source()), site_id=SITE))
        assert await known.reread(ONE)
        assert known.revision(ONE) is None
        assert SITE in known.sites()
        await known.reread_site(SITE)
        assert SITE not in known.sites(is_missing=True)
        assert known.revision(ONE) == 2

    run(late, body)


@lateness
def test_a_release_token_is_handed_over(late: float) -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        handed: list[ReleaseTicket] = []

        def ticket(given: ReleaseTokenGiven) -> ReleaseTicket:
            return ReleaseTicket(url="http://there", token=given.token, runner_id="r1", incarnation="inc-1", ttl_s=8.0)

        await TicketKeeper(OWNER, link, clock=LoopClock(), place=ticket, hand_over=handed.append).tick()
        assert len(handed) == 1

    run(late, body)


@lateness
def test_a_first_dial_costs_one_token_however_often_it_is_asked_for(late: float) -> None:
    async def body(control: ControlUnderTest, link: LateLink) -> None:
        tokens = DialTokens(link, clock=LoopClock(), journal=Journal(), random=Random(1))
        assert await asyncio.gather(*(tokens.take(each, SITE, Generation(1)) for each in (ONE, TWO))) == [True, True]
        budget = (await control.operator().get(f"/v1/sites/{SITE}/budget")).json()
        assert (budget["in_flight"], round(budget["capacity"] - budget["tokens"])) in ((2, 2), (2, 0))
        tokens.ended(ONE)
        await tokens.tell()
        assert (await control.operator().get(f"/v1/sites/{SITE}/budget")).json()["in_flight"] == 1

    run(late, body)


@lateness
def test_a_login_is_permitted_and_its_outcome_counts_once(late: float) -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        logins = ControlLogins(OWNER, link, clock=LoopClock())
        assert await logins.ask(ONE, LOGIN) is Permission.GO
        await asyncio.sleep(8.5)  # as long as a dial may take
        logins.told(ONE, LOGIN, LoginOutcome.REFUSED)
        assert await logins.ask(TWO, LOGIN) is Permission.GO, "one refusal parks nothing"
        logins.told(TWO, LOGIN, LoginOutcome.ACCEPTED)
        assert await logins.ask(ONE, LOGIN) is Permission.GO
        await logins.close()

    run(late, body)


def test_cameras_with_other_logins_do_not_wait_for_a_slow_answer() -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        logins = ControlLogins(OWNER, link, clock=LoopClock())
        first = asyncio.ensure_future(logins.ask(ONE, LOGIN))
        await asyncio.sleep(0.5)
        assert await logins.ask(TWO, LoginId("b" * 64)) is Permission.GO
        assert asyncio.get_running_loop().time() < 4.6
        assert await first is Permission.GO
        await logins.close()

    run(4.0, body)


def test_a_permission_that_comes_too_late_is_not_used_and_counts_for_nothing() -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        logins = ControlLogins(OWNER, link, clock=LoopClock())
        asking = asyncio.ensure_future(logins.ask(ONE, LOGIN))
        await asyncio.sleep(30.0)
        assert not asking.done()
        link.late = 0.1
        assert await asking is Permission.GO
        logins.told(ONE, LOGIN, LoginOutcome.ACCEPTED)
        await logins.close()

    run(6.0, body)


def test_an_ask_that_was_given_up_before_it_was_sent_is_not_sent() -> None:
    async def body(_: ControlUnderTest, link: LateLink) -> None:
        logins = ControlLogins(OWNER, link, clock=LoopClock())
        asking = asyncio.ensure_future(logins.ask(ONE, LOGIN))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        assert await logins.ask(TWO, LOGIN) is Permission.GO
        await logins.close()

    run(0.1, body)


class Cameras:
    """What a standalone Worker runs."""

    def __init__(self) -> None:
        self.did: list[tuple[float, str, str]] = []

    def add(self, source: Source) -> None:
        self.did.append((asyncio.get_running_loop().time(), "add", source.camera_uuid))

    async def drop(self, camera_id: CameraId) -> LastWord:
        self.did.append((asyncio.get_running_loop().time(), "drop", camera_id))
        return LastWord()


@lateness
def test_a_worker_without_a_manager_runs_its_cameras_without_a_gap_and_gives_them_back(late: float) -> None:
    async def body(control: ControlUnderTest, link: LateLink) -> None:
        url = ClearText(Secret("rtsp://192.0.2.1/"))
        sources = [Source(camera_uuid=each, url=url, site_id=SITE, tenant_id="t-01") for each in (ONE, TWO)]
        config = ShardConfig(runner_id="r1", shard_id="s0", sources=sources)
        parts = AloneParts(control=link, clock=LoopClock(), journal=Journal(), random=Random(1))
        alone = Alone(config, OWNER, parts, ending=Ending(grace=10.0))
        cameras = Cameras()
        alone.begin(cameras)
        async with ticking(alone.bodies, journal=Journal()):
            for _ in range(120):
                alone.reported(a_report(1))
                await asyncio.sleep(1.0)
        await alone.aclose()
        started = 5 * late + 3.0  # register, acquire, renew once, first dial
        assert {camera for at, did, camera in cameras.did if at < started and did == "add"} == {ONE, TWO}
        assert [each for each in cameras.did if each[0] >= started] == []
        asked = Counter(link.paths)
        assert asked["/v1/runners/heartbeat"] > 100
        assert asked["/v1/streams/status/batch"] > 40
        await alone.leases.give_back()
        leases = (await control.operator().get("/v1/leases")).json()["items"]
        assert [each["owner_id"] for each in leases if each.get("owner_id")] == []

    run(late, body, is_holding=False)
