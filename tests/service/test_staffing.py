"""What operators want of a runner's Workers, and what it says of that."""

import asyncio

import msgspec
import pytest

from streamward.leases.reconcile import Running
from streamward.leases.sharding import OwnedCamera
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import Generation, ShardId, SiteId, TenantId
from streamward.model.runner import LONGEST_PROBLEM, DrainMode, Making
from streamward.model.secret import Secret
from streamward.protocol import codec
from streamward.protocol.events import StreamFailed
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import RunnerFlags
from streamward.protocol.shards import Source
from streamward.protocol.worker_link import Began, Begin, Told, read_order
from streamward.runner.staffing import Staffing
from streamward.runtime.channel import Channel
from tests.support.builders import START
from tests.support.granted import ONE
from tests.support.managers import Host, a_host

CAMERAS = [OwnedCamera(camera_id=ONE, tenant_id=TenantId("acme"), site_id=SiteId("site-1"))]

SOURCE = Source(camera_uuid=ONE, url=ClearText(Secret("rtsp://192.0.2.1/1")), site_id="site-1", tenant_id="acme")
FAILURE = StreamFailed(
    camera_uuid=ONE, runner_id="r1", code="DETECTOR_FAILED", detail="it raises", retry_in_ms=0, ts=START
)


def flags(make: int, detector: str | None = None, *, before: Making | None = None, earlier: str | None = None):
    before = before or Making()
    return RunnerFlags(
        runner_id="r1",
        cordoned=False,
        drain_mode=DrainMode.NONE,
        capacity_streams=40,
        incarnation="i1",
        site_id=None,
        policy=LeasePolicyName.FAST,
        last_seen_at=START,
        make=make,
        detector=detector,
        earlier_detector=earlier,
        proven_make=before.proven,
        tried_make=before.tried,
        make_problem=before.problem,
    )


async def begun_with(host: Host) -> str:
    """The detector of its shard's Worker."""
    number = await host.staffed()
    worker = await Channel.over(host.nursery.ends[number].dup())
    begin = read_order(await worker.receive() or b"")
    await worker.close()
    assert isinstance(begin, Begin)
    return begin.config.detector


def tried(staffing: Staffing) -> None:
    """A rollout begins."""
    staffing.plan(CAMERAS, is_leaving=True)
    staffing.want(flags(1, "people"))
    staffing.plan(CAMERAS, is_leaving=True)


async def test_a_runner_that_starts_anew_runs_what_worked_before_it_refused_another():
    refused = Making(proven=3, tried=4, problem="it is broken")
    async with a_host() as host:
        host.manager.staffing.want(flags(4, "cars", before=refused, earlier="people"))
        assert await begun_with(host) == "people"
        assert host.manager.staffing.making == refused


async def test_the_same_make_of_another_database_is_another_one():
    async with a_host() as host:
        for make, detector in ((1, "people"), (0, None), (1, "cars")):
            host.manager.staffing.want(flags(make, detector))
        assert await begun_with(host) == "cars"


async def test_a_problem_is_told_as_far_as_a_heartbeat_can():
    async with a_host() as host:
        staffing = host.manager.staffing
        tried(staffing)
        staffing.failed(staffing.planned[0].shard_id, "?" * (LONGEST_PROBLEM + 1))
        assert staffing.making == Making(tried=1, problem="?" * LONGEST_PROBLEM)


@pytest.mark.parametrize("detector", ["colour", None])
async def test_a_detector_of_a_cameras_own_is_no_fault_of_the_new_workers(detector: str | None):
    async with a_host() as host:
        await host.staffed()
        host.manager.staffing.want(flags(1, "people"))
        seat = host.manager.crew.seats[await host.staffed(ShardId("shard-1"))]
        running = Running(worker=seat.number, generation=Generation(3), revision=1)
        seat.add(msgspec.structs.replace(SOURCE, detector=detector), running)
        worker = await Channel.over(host.nursery.ends[seat.number].dup())
        heard = asyncio.Event()
        host.manager.poke = heard.set
        for word in (Told(reports=[], failures=[FAILURE]), Began(pid=1, port=4000)):
            worker.send(codec.encode(word))
        async with asyncio.timeout(60):
            await heard.wait()
        await worker.close()
        problem = None if detector else "its detector fails: it raises"
        assert host.manager.staffing.making == Making(tried=1, problem=problem)
