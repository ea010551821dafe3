"""A world for each index of open batches: as many batchers on it as a test wants, and tenants of its own."""

import itertools
import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Self

import pytest

from streamward.drivers.batch_names import Names
from streamward.drivers.memory.open_batches import MemoryOpenBatches
from streamward.drivers.redis import RedisOpenBatches
from streamward.insight.batch import BatchId, Lane, Limits, Sealed, Sighting
from streamward.insight.store import Addition, OpenBatches, Placed
from streamward.model.ids import CameraId, TenantId
from tests.support.builders import CAMERA, at

LIMITS = Limits()


def numbered() -> Names:
    """Names in the order in which they were asked for."""
    numbers = itertools.count(1)
    return lambda: BatchId(f"batch-{next(numbers):032x}")


def sightings(*moments: float, first: int = 1) -> list[Sighting]:
    """Detections that were made so many seconds after the start."""
    return [Sighting(number, at(moment)) for number, moment in enumerate(moments, start=first)]


class Batcher:
    """One process's way to the index, for one tenant."""

    def __init__(self, index: OpenBatches, tenant_id: TenantId) -> None:
        self.index = index
        self.tenant_id = tenant_id

    async def add(
        self,
        offered: Sequence[Sighting],
        *,
        now: datetime | None = None,
        camera: str = CAMERA,
        lane: Lane = Lane.PRESENT,
        limits: Limits = LIMITS,
    ) -> Placed:
        """They come when the last was made, unless told otherwise."""
        return await self.index.add(
            self.tenant_id,
            CameraId(camera),
            offered,
            lane=lane,
            limits=limits,
            now=now or max(each.made_at for each in offered),
        )

    async def add_urgent(self, sighting: Sighting, *, camera: str = CAMERA) -> Placed:
        return await self.index.add_urgent(self.tenant_id, CameraId(camera), sighting, now=sighting.made_at)

    async def seal_due(self, now: datetime, *, limit: int = 100, is_check: bool = True) -> list[Sealed]:
        return await self.index.seal_due(self.tenant_id, now=now, limit=limit, is_check=is_check)

    async def forget(self, *batches: Sealed) -> None:
        await self.index.forget(self.tenant_id, batches)

    async def next_window_end(self) -> datetime | None:
        return await self.index.next_window_end(self.tenant_id)

    async def aclose(self) -> None:
        await self.index.close()

    def addition(self, offered: Sequence[Sighting], *, camera: str = CAMERA, limits: Limits = LIMITS) -> Addition:
        return Addition(
            tenant_id=self.tenant_id,
            camera_id=CameraId(camera),
            sightings=offered,
            lane=Lane.PRESENT,
            limits=limits,
        )


class IndexWorld:
    """One index, and this test's tenants in it."""

    def __init__(self, make: Callable[[], OpenBatches]) -> None:
        self._make = make
        self._prefix = secrets.token_hex(4)
        self._made: list[OpenBatches] = []

    def batcher(self, tenant: str = "tenant-1") -> Batcher:
        """Another process's way to it."""
        self._made.append(self._make())
        return Batcher(self._made[-1], TenantId(f"{self._prefix}-{tenant}"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        for index in self._made:
            await index.close()


MakeWorld = Callable[[], IndexWorld]


@pytest.fixture(scope="session", params=["memory", "redis"])
def make_indexes(request: pytest.FixtureRequest) -> MakeWorld:
    """One of the drivers; a server lives as long as the session."""
    if request.param == "memory":
        return _in_memory
    server = request.getfixturevalue("redis_server")
    return lambda: IndexWorld(lambda: RedisOpenBatches(server.at()))


@pytest.fixture
def indexes(make_indexes: MakeWorld) -> IndexWorld:
    """To be entered by the test, in which everything of it ends again."""
    return make_indexes()


def _in_memory() -> IndexWorld:
    shared = MemoryOpenBatches()
    return IndexWorld(lambda: shared)
