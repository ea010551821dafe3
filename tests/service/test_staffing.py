"""A runner's first Worker, and whether it has eyes."""

import asyncio
import signal

import pytest

from streamward.leases.quarantine import TRUSTED_AFTER
from streamward.protocol import codec, worker_link
from streamward.protocol.shards import ModelsAt
from streamward.protocol.spawning import Exited
from streamward.protocol.worker_link import Warm, Warmed, WorkerExit
from streamward.runner import facts
from streamward.runner.spawner import SpawnRefused
from streamward.runtime.channel import Channel
from streamward.vision.unusable import DetectorUnusable
from tests.support.granted import ONE
from tests.support.managers import Host, a_host

LOOK = 128  # on a board


async def asked(host: Host) -> Channel:
    """The first Worker's end, when it was told what to load."""
    while not host.nursery.ends:  # noqa: ASYNC110 - a turn of the loop or two
        await asyncio.sleep(0)
    end = await Channel.over(host.nursery.ends[1])
    order = worker_link.read_order(await end.receive() or b"")
    assert order == Warm(detector="colour", models=ModelsAt())
    return end


@pytest.mark.parametrize("problem", [None, "no module of that name"])
async def test_a_runner_begins_only_with_a_detector_that_could_be_loaded(problem: str | None):
    async with a_host() as host:
        proving = asyncio.ensure_future(host.manager.staffing.prove())
        end = await asked(host)
        end.send(codec.encode(Warmed(problem=problem)))
        await asyncio.wait([proving])
        if problem is not None:
            with pytest.raises(DetectorUnusable, match=f"{problem}; STREAMWARD_RUNNER_DETECTOR names it"):
                proving.result()
        await end.close()


async def test_a_detector_that_ends_its_process_cannot_be_had():
    async with a_host() as host:
        proving = asyncio.ensure_future(host.manager.staffing.prove())
        end = await asked(host)
        host.manager.crew.exited(Exited(worker=1, pid=1, code=None, signal=11))
        with pytest.raises(DetectorUnusable, match="the process that loaded it died"):
            await proving
        await end.close()


def test_a_host_that_gives_no_process_is_told_what_to_allow():
    assert "ulimit -u" in str(SpawnRefused("Resource temporarily unavailable"))


async def suspects_of(host: Host, *, is_stuck: bool = False, mark: int = LOOK, **how: int) -> list[str]:
    """Who is suspected after one more Worker died while the camera was on its board."""
    number = await host.staffed()
    seat = host.manager.crew.seats[number]
    seat.is_stuck = is_stuck
    seat.board._page[: len(ONE) + 1] = bytes([len(ONE) | mark]) + ONE.encode()
    host.manager.crew.exited(Exited(worker=number, pid=1, **how))
    return [each.camera_id for each in host.manager.staffing._staff.quarantine.suspects]


async def test_a_camera_from_whose_picture_a_detector_does_not_come_back_is_a_suspect():
    async with a_host() as host:
        assert await suspects_of(host, code=WorkerExit.DETECTOR_UNUSABLE) == []
        assert await suspects_of(host, code=WorkerExit.DETECTOR_STUCK, mark=0) == []  # it was being decoded
        assert await suspects_of(host, code=WorkerExit.DETECTOR_STUCK) == [ONE]


async def test_a_camera_that_was_looked_at_when_two_workers_fell_silent_is_a_suspect():
    async with a_host() as host:
        assert await suspects_of(host, signal=signal.SIGKILL) == []
        assert await suspects_of(host, signal=signal.SIGKILL, is_stuck=True) == []
        host.clock.advance(TRUSTED_AFTER)
        assert await suspects_of(host, signal=signal.SIGKILL, is_stuck=True) == []
        assert await suspects_of(host, signal=signal.SIGKILL, is_stuck=True, mark=0) == []
        assert await suspects_of(host, signal=signal.SIGKILL, is_stuck=True) == [ONE]


async def test_a_worker_that_gets_a_shard_is_named_with_its_cameras_and_a_spare_is_not_one():
    async with a_host() as host:
        number = await host.staffed()
        seat = host.manager.crew.seats[number]
        (spawned,) = [each for each in host.facts if isinstance(each, facts.WorkerSpawn)]
        assert (spawned.shard_id, spawned.cameras, spawned.pid) == (seat.shard_id, 1, seat.pid)
        assert spawned.tenant_id == "acme"
        await host.manager.tick()
        assert [each for each in host.facts if isinstance(each, facts.SpareStarted)]
