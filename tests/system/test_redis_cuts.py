"""A connection to Redis that is cut after any byte: nothing or all of a call happened, and it may be repeated."""

import asyncio
import contextlib
import itertools
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pytest
from redis.asyncio import Redis

from streamward.drivers.redis import RedisOpenBatches
from streamward.insight.batch import BatchId, Limits, Sealed, Sighting
from streamward.insight.store import IndexAway, Placed
from streamward.model.ids import TenantId
from tests.support.builders import at
from tests.support.indexes import Batcher, sightings
from tests.support.redis_server import PrivateRedis, contents
from tests.support.shears import Shears

PATIENCE = 60.0  # seconds for one cut
FULL = Limits(most=2)


class Restarted:
    """Names of batches that are the same for each try."""

    def __init__(self) -> None:
        self.restart()

    def restart(self, first: int = 1) -> None:
        self._numbers = itertools.count(first)

    def __call__(self) -> BatchId:
        return BatchId(f"batch-{next(self._numbers):032x}")


@dataclass(frozen=True)
class Site:
    """A server, and a batcher's way to it that can be cut."""

    client: Redis  # that nobody cuts
    shears: Shears
    index: RedisOpenBatches
    names: Restarted


class Trial:
    """A tenant with something open and something sealed."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._tenant_id = TenantId(secrets.token_hex(6))
        self.batcher = Batcher(site.index, self._tenant_id)
        self.sealed: tuple[Sealed, ...] = ()

    @classmethod
    async def prepared(cls, site: Site) -> Self:
        trial = cls(site)
        site.names.restart()
        await trial.batcher.add(sightings(0, 1))
        trial.sealed = (await trial.batcher.add(sightings(0, 1, first=11), camera="cam-2", limits=FULL)).sealed
        return trial

    async def look(self) -> dict[str, object]:
        """Everything that Redis has of it."""
        tag = f"{{{self._tenant_id}}}"
        return {key.removeprefix(tag): value for key, value in (await contents(self._site.client, tag)).items()}

    async def clear(self) -> None:
        await self._site.client.flushdb()

    async def call(self, verb: "Verb") -> Any:
        """What is answered, whatever the tenant's name and the order of what is told."""
        self._site.names.restart(101)
        match await verb(self):
            case [Placed(), *_] as placed:
                return [(each.batch_ids, self._named(each.sealed)) for each in placed]
            case sealed:
                return self._named(sealed)

    def _named(self, batches: Sequence[Sealed]) -> frozenset[str]:
        return frozenset(repr(batch).replace(self._tenant_id, "") for batch in batches)


Verb = Callable[[Trial], Awaitable[Any]]


async def add(trial: Trial) -> Any:
    """Joins, fills one, opens the next, and is too late for that."""
    return [await trial.batcher.add(sightings(2, 3, 4, 60, first=3), limits=Limits(most=4))]


async def add_urgent(trial: Trial) -> Any:
    return [await trial.batcher.add_urgent(Sighting(9, at(2)))]


async def seal_due(trial: Trial) -> Any:
    return await trial.batcher.seal_due(at(1000))


async def forget(trial: Trial) -> Any:
    await trial.batcher.forget(*trial.sealed)
    return ()


async def add_all(trial: Trial) -> Any:
    """So many of each camera that each goes by a call of its own."""
    moments = [number / 100 for number in range(200)]
    offered = [
        trial.batcher.addition(sightings(*moments, first=1001 * number), camera=f"cam-{number}1")
        for number in (1, 2, 3)
    ]
    return await trial.batcher.index.add_all(offered, now=at(2))


@dataclass(frozen=True, kw_only=True)
class Uncut:
    """What a call does that nobody disturbs."""

    before: dict[str, object]
    after: dict[str, object]
    answer: Any
    asked: int  # bytes
    answered: int


@contextlib.asynccontextmanager
async def a_site(server: PrivateRedis) -> AsyncIterator[Site]:
    async with Shears().held(server.port) as shears, server.client() as client:
        names = Restarted()
        index = RedisOpenBatches(server.at(port=shears.port), names)
        await client.flushdb()
        try:
            yield Site(client, shears, index, names)
        finally:
            await index.close()


async def _uncut(site: Site, verb: Verb) -> Uncut:
    trial = await Trial.prepared(site)
    before = await trial.look()
    site.shears.set()
    answer = await trial.call(verb)
    asked, answered = site.shears.asked, site.shears.answered
    return Uncut(before=before, after=await trial.look(), answer=answer, asked=asked, answered=answered)


async def _cut(site: Site, trial: Trial, verb: Verb, **cut: int) -> None:
    site.shears.set(**cut)
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(IndexAway):
            await trial.call(verb)
    site.shears.set()


@pytest.mark.parametrize("verb", [add, add_urgent, seal_due, forget])
async def test_a_call_that_is_cut_off_leaves_nothing_and_may_be_repeated(redis_server, verb: Verb) -> None:
    async with a_site(redis_server) as site:
        uncut = await _uncut(site, verb)
        trial = await Trial.prepared(site)
        for number in range(uncut.asked):
            await _cut(site, trial, verb, asked=number)
            assert await trial.look() == uncut.before
        assert await trial.call(verb) == uncut.answer
        assert await trial.look() == uncut.after


@pytest.mark.parametrize("verb", [add, add_urgent, seal_due, forget])
async def test_a_call_whose_answer_is_cut_off_is_done_and_may_be_repeated(redis_server, verb: Verb) -> None:
    async with a_site(redis_server) as site:
        uncut = await _uncut(site, verb)
        for number in range(uncut.answered):
            trial = await Trial.prepared(site)
            await _cut(site, trial, verb, answered=number)
            assert await trial.look() == uncut.after
            # Of what a timer sealed nobody is told again before 300 s are over.
            assert await trial.call(verb) == (frozenset() if verb is seal_due else uncut.answer)
            assert await trial.look() == uncut.after
            await trial.clear()


@pytest.mark.parametrize("done", range(4))
async def test_of_many_cameras_each_is_added_or_not(redis_server: PrivateRedis, done: int) -> None:
    async with a_site(redis_server) as site:
        uncut = await _uncut(site, add_all)
        trial = await Trial.prepared(site)
        await _cut(site, trial, add_all, asked=uncut.asked * done // 3)
        current = {key for key in await trial.look() if key.endswith(":current")}
        assert current == {":batch:cam-1:current", *(f":batch:cam-{number + 1}1:current" for number in range(done))}
        assert await trial.call(add_all) == uncut.answer
        assert await trial.look() == uncut.after
