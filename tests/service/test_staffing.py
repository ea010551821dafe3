"""What operators want of a runner's Workers, and what it says of that."""

from datetime import UTC, datetime

from streamward.leases.sharding import OwnedCamera
from streamward.model.camera import LeasePolicyName
from streamward.model.ids import SiteId, TenantId
from streamward.model.runner import LONGEST_PROBLEM, DrainMode, Making
from streamward.protocol.leases import RunnerFlags
from streamward.protocol.worker_link import Begin, read_order
from streamward.runner.staffing import Staffing
from streamward.runtime.channel import Channel
from tests.support.granted import ONE
from tests.support.managers import Host, a_host

CAMERAS = [OwnedCamera(camera_id=ONE, tenant_id=TenantId("acme"), site_id=SiteId("site-1"))]


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
        last_seen_at=datetime(2026, 1, 1, tzinfo=UTC),
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
