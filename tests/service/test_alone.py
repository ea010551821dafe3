"""A Worker without a Manager, on virtual time: what is slow around it costs it no lease."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from streamward.leases.policy import FAST
from streamward.model.ids import CameraId
from streamward.model.runner import DrainMode
from streamward.model.secret import Secret
from streamward.protocol.dials import DialAnswer, DialsAnswered, DialsFinished, SiteDial
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import CamerasRenewed, GrantedLease, Heartbeat, RenewedLease, RunnerFlags
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.streams import ReportsAccepted
from streamward.protocol.worker_link import WorkerExit
from streamward.runner.alone import TERMINATED_WITHIN, Alone, AloneParts
from streamward.runner.ending import Ending
from streamward.runner.parts import LastWord
from streamward.runtime import virtual_time
from streamward.runtime.journal import Journal
from streamward.runtime.service import ticking
from tests.support.builders import START, an_owner
from tests.support.clocks import LoopClock
from tests.support.streams import a_report

ONE, TWO = CameraId("cam-1"), CameraId("cam-2")
TTL_MS = round(FAST.ttl * 1000)


def _go(dial: SiteDial) -> DialAnswer:
    return DialAnswer(camera_uuid=dial.camera_uuid)


class Granting:
    """A control plane that grants everything, each answer after a while, and renews all but what is lost."""

    def __init__(self, *, after: float = 0.0, reports_after: float = 0.0) -> None:
        self.lost: set[str] = set()
        self.drain = DrainMode.NONE
        self.heartbeats: list[tuple[float, Heartbeat]] = []
        self._reports_after = reports_after
        self._after = after
        self._answers: dict[Any, Callable[[Any], Any]] = {
            RunnerFlags: self._flags,
            GrantedLease: self._granted,
            CamerasRenewed: self._renewed,
            DialsAnswered: lambda message: DialsAnswered(items=[_go(each) for each in message.items]),
            DialsFinished: lambda message: DialsFinished(finished=len(message.items)),
            ReportsAccepted: lambda message: ReportsAccepted(accepted=len(message.items)),
        }

    async def post(self, path: str, message: Any, kind: type[Any], *, within: float) -> Any:
        if isinstance(message, Heartbeat):
            self.heartbeats.append((LoopClock().boot(), message))
        await asyncio.sleep(self._reports_after if kind is ReportsAccepted else self._after)
        return self._answers[kind](message)

    def _flags(self, message: Any) -> RunnerFlags:
        return RunnerFlags(
            runner_id=message.runner_id,
            cordoned=False,
            drain_mode=self.drain,
            capacity_streams=2,
            incarnation=None,
            site_id=None,
            policy=FAST.name,
            last_seen_at=self._now,
        )

    def _granted(self, message: Any) -> GrantedLease | None:
        if message.camera_uuid in self.lost:
            return None
        return GrantedLease(
            camera_uuid=message.camera_uuid,
            owner_id=message.runner_id,
            expires_at=self._now,
            version=1,
            ttl_ms=TTL_MS,
            server_time=self._now,
            source=None,
        )

    def _renewed(self, message: Any) -> CamerasRenewed:
        kept = [each for each in message.cameras if each.camera_uuid not in self.lost]
        renewed = [RenewedLease(camera_uuid=each.camera_uuid, version=1, ttl_ms=TTL_MS) for each in kept]
        return CamerasRenewed(server_time=self._now, renewed=renewed, lost=list(self.lost), busy=[], unlisted=[])

    @property
    def _now(self) -> Any:
        return START + timedelta(seconds=LoopClock().boot())


class Slow:
    """Cameras of which each takes a minute to be let go."""

    def __init__(self) -> None:
        self.did: list[str] = []

    def add(self, source: Source) -> None:
        self.did.append(f"add {source.camera_uuid}")

    async def drop(self, camera_id: CameraId) -> LastWord:
        self.did.append(f"drop {camera_id}")
        await asyncio.sleep(60)
        return LastWord()


@contextlib.asynccontextmanager
async def at_work(control: Granting, cameras: Slow, ending: Ending | None = None) -> Any:
    url = ClearText(Secret("rtsp://192.0.2.1/"))
    sources = [Source(camera_uuid=each, url=url, site_id="site-1", tenant_id="t-1") for each in (ONE, TWO)]
    config = ShardConfig(runner_id="r1", shard_id="s0", sources=sources)
    parts = AloneParts(control=control, clock=LoopClock(), journal=Journal(), random=Random(1))
    alone = Alone(config, an_owner(), parts, ending=ending or Ending(grace=10.0))
    alone.begin(cameras)
    async with ticking(alone.bodies, journal=Journal()):
        yield alone


def test_a_camera_that_takes_its_time_to_be_let_go_costs_the_others_nothing():
    async def story() -> None:
        control, cameras = Granting(), Slow()
        async with at_work(control, cameras) as alone:
            await asyncio.sleep(5)
            control.lost.add(TWO)
            await asyncio.sleep(50)
            assert (alone.leases.holds(ONE), alone.leases.holds(TWO)) == (True, False)
        assert sorted(cameras.did) == ["add cam-1", "add cam-2", "drop cam-2"]

    virtual_time.run(story())


def test_what_is_wanted_is_asked_for_as_soon_as_the_runner_is_known():
    async def story() -> None:
        cameras = Slow()
        async with at_work(Granting(after=0.05), cameras):
            await asyncio.sleep(1)
        assert sorted(cameras.did) == ["add cam-1", "add cam-2"]

    virtual_time.run(story())


def test_a_control_plane_that_answers_slowly_costs_no_lease():
    async def story() -> None:
        cameras = Slow()
        async with at_work(Granting(after=0.9), cameras):
            await asyncio.sleep(300)
        assert sorted(cameras.did) == ["add cam-1", "add cam-2"]

    virtual_time.run(story())


def test_its_heartbeat_goes_every_second_with_its_leases_however_slow_other_answers_are():
    async def story() -> None:
        control = Granting(after=0.5, reports_after=3.0)
        async with at_work(control, Slow()) as alone:
            for _ in range(20):
                alone.reported(a_report(1))
                await asyncio.sleep(1)
        times = [at for at, _ in control.heartbeats]
        assert len(times) >= 18
        assert {round(later - sooner, 3) for sooner, later in pairwise(times)} == {1.0}
        last = control.heartbeats[-1][1]
        assert (last.streams_owned, last.shards, last.ts is not None, last.mem_mb > 0) == (2, 1, True, True)

    virtual_time.run(story())


@pytest.mark.parametrize(
    ("drain", "code", "within"),
    [(DrainMode.SOFT, WorkerExit.DRAINED, 10.0), (DrainMode.HARD, WorkerExit.TERMINATED, TERMINATED_WITHIN)],
)
def test_a_worker_without_a_manager_ends_when_it_is_drained_and_at_once_when_hard(
    drain: DrainMode, code: WorkerExit, within: float
):
    async def story() -> None:
        control, ending = Granting(), Ending(grace=10.0)
        async with at_work(control, Slow(), ending):
            await asyncio.sleep(2)
            control.drain = drain
            await ending.wanted()
        assert (ending.code, ending.within) == (code, within)

    virtual_time.run(story())
