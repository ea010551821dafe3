"""The Manager's own look at things, with a control plane that says nothing and no Worker to be had."""

from typing import Any

from streamward.protocol.shards import ShardConfig
from streamward.runner.known import KnownCameras
from streamward.runner.manager import Manager
from streamward.runner.manager_parts import ManagerParts, ManagerSpec
from streamward.runner.spawner import Spawnling
from streamward.runtime.journal import Journal
from tests.support.builders import START
from tests.support.clocks import ManualClock
from tests.support.granted import ONE, a_source, granted
from tests.support.holder_talk import TTL, holding


class Silence:
    """A control plane that does not answer."""

    async def post(self, _path: str, _message: Any, _kind: type[Any], *, within: float) -> None:
        assert within > 0

    async def get(self, _path: str, _kind: type[Any], *, within: float) -> None:
        assert within > 0


class NoNursery:
    """Starts nobody: its fork server is being started."""

    is_ready = False

    async def spawn(self, log: int) -> Spawnling:
        raise AssertionError(log)

    def stop(self, number: int, *, grace: float) -> None:
        raise AssertionError(number, grace)


async def test_a_shard_outlives_its_leases_while_the_control_plane_is_away():
    clock, known = ManualClock(START), KnownCameras(Silence())
    clock.advance(10.0)
    known.granted(granted(a_source()))
    parts = ManagerParts(
        holder=holding(ONE, now=10.0).holder,
        control=Silence(),
        known=known,
        spawner=NoNursery(),
        clock=clock,
        journal=Journal(),
        log=2,
    )
    manager = Manager(ManagerSpec(template=ShardConfig(runner_id="r1", shard_id="none", sources=[])), parts)
    for owned in (1, 0):
        await manager.tick()
        assert (manager.counts.owned, manager.counts.shards) == (owned, 1)
        clock.advance(TTL)
    manager.leave()
    await manager.tick()
    assert manager.counts.shards == 0
    await manager.close()
