"""Cameras behind a restreamer, as the Manager sees them and as it is told of them."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

import msgspec
import pytest

from streamward.drivers.addresses import HostLimits, host_limits, restreamed, way
from streamward.leases.logins import LoginId, LoginOutcome
from streamward.model.ids import Generation
from streamward.model.secret import Secret
from streamward.model.source_url import parse
from streamward.protocol.fields import ClearText
from streamward.protocol.logins import AskLogins, ToldLogin
from streamward.protocol.shards import Source
from streamward.protocol.sites import SiteDetails, SourceLimits, SourceRules
from streamward.runner import facts
from streamward.runner.restreams import FIND_EVERY, LOOK_SOON, RestreamControl, RestreamedCameras, RestreamParts
from streamward.runtime.journal import Journal
from streamward.vision.restreams import Connections, Restream, restream
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, SITE, a_source, granted

LOGIN = LoginId("0" * 64)


@dataclass
class FakeServer:
    """A restreamer without a process."""

    is_running: bool = False
    is_taking: bool = True
    starts: int = 0
    streams: dict[str, Restream] = field(default_factory=dict)
    connected: dict[str, list[str]] = field(default_factory=dict)
    refusals: set[str] = field(default_factory=set)
    readers: int = 1

    def url(self, name: str) -> Secret:
        return Secret(f"rtsp://127.0.0.1:8554/{name}")

    async def start(self) -> int:
        self.is_running, self.streams = True, {}
        self.starts += 1
        return self.starts

    async def name(self, restream: Restream) -> bool:
        if self.is_taking:
            self.streams[restream.name] = restream
        return self.is_taking

    async def forget(self, name: str) -> None:
        self.streams.pop(name, None)

    async def connections(self) -> dict[str, Connections]:
        return {
            name: Connections(remotes=tuple(self.connected.get(name, ())), readers=self.readers)
            for name in {*self.streams, *self.connected}
        }

    def refused(self) -> set[str]:
        refused, self.refusals = self.refusals, set()
        return refused


class FakeControl:
    """Says what a site allows, and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def get(self, _path: str, _kind: type[Any], *, within: float) -> Any:
        assert within > 0
        return SiteDetails(
            site_id=SITE,
            tenant_id="acme",
            policy=None,
            capacity=10,
            refill_rate=120.0,
            sources=SourceRules(),
            limits=SourceRules(),
            updated_at=START,
        )

    async def post(self, _path: str, message: Any, _kind: type[Any], *, within: float) -> None:
        assert within > 0
        self.told.append(message)


class Bench:
    """One camera and what it is read with."""

    def __init__(self) -> None:
        self.clock = ManualClock(START)
        self.server = FakeServer()
        self.control = FakeControl()
        self.address: str | None = "10.0.0.7"
        self.facts: list[object] = []
        journal = Journal()
        journal.subscribe(self.facts.append)
        self.cameras = RestreamedCameras(
            self.control, RestreamParts(server=self.server, find=self._find, clock=self.clock, journal=journal)
        )

    @property
    def named(self) -> Restream:
        (only,) = self.server.streams.values()
        return only

    def source(self) -> Source:
        return self.cameras.source(ONE, generation=Generation(3), epoch=7, is_dial_paid=True)

    def dialed_by_its_worker(self) -> bool:
        source = self.source()
        assert source.password is not None
        return source.via is None and source.password.secret.reveal() == "hunter2"

    async def _find(self, name: str, source: Source) -> Restream | None:
        if self.address is None:
            return None
        return restream(name, parse(source.url.secret.reveal()).url, None, address=ip_address(self.address))


@contextlib.asynccontextmanager
async def a_bench(*, ticks: int = 1) -> AsyncIterator[Bench]:
    bench = Bench()
    bench.cameras.granted(granted(a_source()))
    await bench.cameras.reread_site(SITE)
    for _ in range(ticks):
        await bench.cameras.tick()
    yield bench


async def test_a_camera_may_begin_once_its_stream_has_a_name_and_its_worker_needs_no_password():
    async with a_bench(ticks=0) as bench:
        assert bench.cameras.revision(ONE) is None
        await bench.cameras.tick()
        assert bench.cameras.revision(ONE) == 1
        source = bench.source()
        assert source.via is not None
        assert source.via.secret == bench.server.url(bench.named.name)
        assert source.password is not None
        assert source.password.secret == Secret("")
        assert bench.named.name.startswith(f"{ONE}/")


async def test_a_restreamer_that_was_started_again_is_told_everything_again():
    async with a_bench() as bench:
        before = bench.named
        bench.server.is_running = False
        assert bench.cameras.revision(ONE) == 1, "Workers stay, and read it as soon as it is back"
        await bench.cameras.tick()
        assert bench.named == before
        assert bench.cameras.revision(ONE) == 1
        kinds = [type(fact) for fact in bench.facts]
        assert kinds == [facts.RestreamerStarted, facts.RestreamerExited, facts.RestreamerStarted]


async def test_one_that_was_changed_has_another_name_and_one_that_left_has_none():
    async with a_bench() as bench:
        before = bench.named
        bench.cameras.granted(granted(a_source("other")))
        assert bench.cameras.revision(ONE) is None
        await bench.cameras.tick()
        assert bench.cameras.revision(ONE) == 2
        assert bench.named.name != before.name
        bench.cameras.keep([])
        await bench.cameras.tick()
        assert bench.server.streams == {}


@pytest.mark.parametrize("is_found", [True, False])
async def test_what_cannot_be_restreamed_is_left_to_its_worker(is_found: bool):
    async with a_bench(ticks=0) as bench:
        bench.address = "10.0.0.7" if is_found else None
        bench.server.is_taking = False
        await bench.cameras.tick()
        assert bench.cameras.revision(ONE) is not None
        assert bench.dialed_by_its_worker()
        assert bench.facts[-1] == facts.RestreamLeftOut(camera_id=ONE)


async def test_a_producer_that_is_connected_where_it_was_told_is_told_once():
    async with a_bench() as bench:
        bench.server.connected = {bench.named.name: ["10.0.0.7:554"]}
        for _ in range(2):
            await bench.cameras.tick()
        assert bench.facts[1:] == [facts.ProducerConnected(camera_id=ONE)]


async def test_a_camera_that_hangs_up_is_dialed_again_only_when_its_worker_has_let_go():
    async with a_bench() as bench:
        real = bench.named
        bench.server.connected = {real.name: ["10.0.0.7:554"]}
        for _ in range(2):
            await bench.cameras.tick()
        assert bench.named == real.shut() != real
        assert bench.cameras.revision(ONE) == 1
        bench.server.connected = {}
        assert await bench.cameras.tick() == LOOK_SOON
        assert (bench.cameras.revision(ONE), bench.named) == (None, real.shut())
        bench.server.readers = 0
        for _ in range(2):
            await bench.cameras.tick()
        assert (bench.cameras.revision(ONE), bench.named) == (2, real)
        assert bench.facts[1:] == [facts.ProducerConnected(camera_id=ONE), facts.ProducerLost(camera_id=ONE)]


async def test_a_restreamer_that_was_started_again_has_lost_nobody():
    async with a_bench() as bench:
        real = bench.named
        bench.server.connected = {real.name: ["10.0.0.7:554"]}
        await bench.cameras.tick()
        bench.server.is_running, bench.server.connected = False, {}
        for _ in range(2):
            await bench.cameras.tick()
        assert (bench.cameras.revision(ONE), bench.named) == (1, real), "its Worker dials as before"


async def test_one_that_was_led_astray_is_forgotten_and_begun_anew_by_its_worker():
    async with a_bench() as bench:
        bench.server.connected = {bench.named.name: ["192.0.2.66:554"]}
        for _ in range(2):
            await bench.cameras.tick()
        assert bench.cameras.revision(ONE) == 2
        assert bench.dialed_by_its_worker()
        assert bench.server.streams == {}
        assert bench.facts[1:] == [facts.RestreamAstray(camera_id=ONE), facts.RestreamLeftOut(camera_id=ONE)]


@pytest.mark.parametrize(("address", "remote"), [("10.0.0.8", "10.0.0.8:554"), (None, "10.0.0.7:554")])
async def test_a_name_that_means_another_address_is_told_to_the_same_stream(address: str | None, remote: str):
    async with a_bench() as bench:
        before = bench.named
        bench.address = address
        await bench.cameras.tick()
        assert bench.named == before, "it is looked up now and then"
        bench.clock.advance(FIND_EVERY)
        await bench.cameras.tick()
        assert (bench.named.name, bench.named.remote) == (before.name, remote)
        assert bench.cameras.revision(ONE) == 1


async def test_one_that_is_connected_stays_whatever_its_name_means_by_now():
    async with a_bench() as bench:
        before = bench.named
        bench.address = "10.0.0.8"
        bench.clock.advance(FIND_EVERY)
        await bench.cameras.tick()
        bench.server.connected = {before.name: [before.remote]}  # it had dialed already
        for _ in range(2):
            bench.clock.advance(FIND_EVERY)
            bench.address = "10.0.0.9"
            await bench.cameras.tick()
        assert (bench.cameras.revision(ONE), bench.facts[-1]) == (1, facts.ProducerConnected(camera_id=ONE))


async def test_a_login_that_the_camera_refused_counts_as_refused_once():
    async with a_bench() as bench:
        control = RestreamControl(bench.control, bench.cameras)
        told = [ToldLogin(camera_uuid=ONE, login=LOGIN, outcome=LoginOutcome.GAVE_UP)]
        bench.server.refusals = {bench.named.name, "another"}
        for _ in range(2):
            await control.post("/v1/logins", AskLogins(runner_id="r1", told=told, asks=[]), object, within=1.0)
        await control.post("/v1/else", "anything", object, within=1.0)
        *asked, other = bench.control.told
        assert [each.told[0].outcome for each in asked] == [LoginOutcome.REFUSED, LoginOutcome.GAVE_UP]
        assert other == "anything"


async def test_a_camera_is_named_to_the_restreamer_only_if_its_runner_s_settings_permit_its_address():
    here = ["127.0.0.0/8"]
    url = ClearText(Secret("rtsp://127.0.0.1:8554/cam-1"))
    source = Source(camera_uuid="cam-1", url=url, site_id="site-1", tenant_id="acme", allow=here)
    opened = host_limits(SourceLimits(allow=here))
    found = await restreamed("cam-1/key", source, opened)
    assert found is not None
    assert found.remote == "127.0.0.1:8554"
    assert await restreamed("cam-1/key", source, HostLimits()) is None
    closed = msgspec.structs.replace(source, installation=SourceRules())
    assert await restreamed("cam-1/key", closed, opened) is None
    read = way(msgspec.structs.replace(source, via=url), HostLimits())  # the runner's own restream
    assert read.forbids(ip_address("127.0.0.1")) is None
