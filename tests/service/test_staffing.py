"""A runner's first Worker, and whether it has eyes."""

import asyncio

import pytest

from streamward.protocol import codec, worker_link
from streamward.protocol.shards import ModelsAt
from streamward.protocol.spawning import Exited
from streamward.protocol.worker_link import Warm, Warmed
from streamward.runner.spawner import SpawnRefused
from streamward.runtime.channel import Channel
from streamward.vision.detector import DetectorUnusable
from tests.support.managers import Host, a_host


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
