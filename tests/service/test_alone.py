"""A Worker without a Manager, on virtual time: what is slow around it costs it no lease."""

import asyncio
import contextlib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from streamward.leases.policy import FAST
from streamward.model.ids import CameraId
from streamward.model.runner import DrainMode
from streamward.model.secret import Secret
from streamward.protocol.dials import DialAnswer, DialsAnswered, DialsFinished, SiteDial
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import CamerasRenewed, GrantedLease, RenewedLease, RunnerFlags
from streamward.protocol.shards import ShardConfig, Source
from streamward.protocol.streams import ReportsAccepted
from streamward.runner.alone import Alone
from streamward.runner.ending import Ending
from streamward.runner.parts import LastWord
from streamward.runtime import virtual_time
from streamward.runtime.journal import Journal
from streamward.runtime.service import ticking
from tests.support.builders import START, an_owner
from tests.support.clocks import LoopClock

ONE, TWO = CameraId("cam-1"), CameraId("cam-2")
TTL_MS = round(FAST.ttl * 1000)


def _go(dial: SiteDial) -> DialAnswer:
    return DialAnswer(camera_uuid=dial.camera_uuid)


class Granting:
    """A control plane that grants everything, each answer after a while, and renews all but what is lost."""

    def __init__(self, *, after: float = 0.0) -> None:
        self.lost: set[str] = set()
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
        await asyncio.sleep(self._after)
        return self._answers[kind](message)

    def _flags(self, message: Any) -> RunnerFlags:
        return RunnerFlags(
            runner_id=message.runner_id,
            cordoned=False,
            drain_mode=DrainMode.NONE,
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
async def at_work(control: Granting, cameras: Slow) -> Any:
    url = ClearText(Secret("rtsp://192.0.2.1/"))
    sources = [Source(camera_uuid=each, url=url, site_id="site-1", tenant_id="t-1") for each in (ONE, TWO)]
    config = ShardConfig(runner_id="r1", shard_id="s0", sources=sources)
    alone = Alone(config, an_owner(), control=control, clock=LoopClock(), journal=Journal(), ending=Ending(grace=10.0))
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
