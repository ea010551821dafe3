"""Clients at once on a real PostgreSQL whose connections die in the middle: one order explains every answer."""

import asyncio
import random
import time
from collections.abc import Sequence

import asyncpg
import pytest

from streamward.drivers.sql import SqlStore
from streamward.leases.lease import Owner
from streamward.leases.store import Claim, Granted, Named, Renewal, Renewed, StoreUnavailable
from streamward.model.ids import CameraId, Generation
from tests.support.builders import an_owner
from tests.support.fleet import with_cameras, with_runners
from tests.support.histories import REFUSED, UNKNOWN, Answer, Operation, Verb, is_explained
from tests.support.postgres import PostgresServer
from tests.support.stores import control_planes

CAMERAS = tuple(CameraId(f"cam-{number}") for number in range(3))
CLIENTS, OPERATIONS = 8, 30
LONG = 600.0  # nothing expires
KILL_ONE = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'streamward' AND state <> 'idle'
    ORDER BY random() LIMIT 1
"""


class Client:
    """One runner; asks for, renews and releases cameras at random, and writes down what it was told."""

    def __init__(self, store: SqlStore, owner: Owner, *, rng: random.Random, done: asyncio.Semaphore) -> None:
        self._store = store
        self._owner = owner
        self._rng = rng
        self._done = done
        self._held: dict[CameraId, int] = {}
        self.written: list[tuple[CameraId, Operation]] = []

    async def run(self) -> None:
        for _ in range(OPERATIONS):
            camera_id = self._rng.choice([*self._held, *CAMERAS])
            often = [Verb.RENEW, Verb.RELEASE] if camera_id in self._held else [Verb.ACQUIRE] * 4
            await self._operate(camera_id, self._rng.choice([*Verb, *often]))
            self._done.release()

    async def _operate(self, camera_id: CameraId, verb: Verb) -> None:
        generation = max(0, self._held.get(camera_id, 0) - self._rng.choice([0, 0, 0, 1]))  # or an older grant
        called_at = time.monotonic()
        try:
            answer = await self._ask(verb, camera_id, Generation(generation))
        except StoreUnavailable:
            answer = UNKNOWN
        if answer is not None:
            if isinstance(answer, int):
                self._held[camera_id] = answer
            self.written.append((
                camera_id,
                Operation(
                    verb=verb,
                    owner=self._owner,
                    generation=generation,
                    answer=answer,
                    called_at=called_at,
                    answered_at=time.monotonic(),
                ),
            ))

    async def _ask(self, verb: Verb, camera_id: CameraId, generation: Generation) -> Answer | None:
        """The generation, or a refusal; None for a busy row, which says nothing of the order."""
        named = Named(camera_id, generation)
        if verb is Verb.ACQUIRE:
            granted = await self._store.acquire(Claim(owner=self._owner, camera_id=camera_id, ttl=LONG))
            return granted.leases[0][0].generation if isinstance(granted, Granted) else REFUSED
        if verb is Verb.RELEASE:
            return generation if await self._store.release(self._owner, [named]) else REFUSED
        renewed = await self._store.renew(Renewal(owner=self._owner, leases=(named,)))
        assert isinstance(renewed, Renewed)
        return None if renewed.busy else (generation if renewed.kept else REFUSED)


async def kill_connections(url: str, done: asyncio.Semaphore) -> int:
    """Ends a working connection after every few operations."""
    connection = await asyncpg.connect(url)
    killed = 0
    try:
        for _ in range(CLIENTS * OPERATIONS // 5):
            for _ in range(5):
                await done.acquire()
            killed += len(await connection.fetch(KILL_ONE))
    finally:
        await connection.close()
    return killed


async def play(stores: Sequence[SqlStore], url: str) -> list[Client]:
    done = asyncio.Semaphore(0)
    clients = [
        Client(stores[number % len(stores)], an_owner(f"runner-{number}"), rng=random.Random(number), done=done)
        for number in range(CLIENTS)
    ]
    killing = asyncio.create_task(kill_connections(url, done))
    await asyncio.gather(*(client.run() for client in clients))
    assert await killing > 10
    return clients


async def test_with_connections_killed_in_the_middle_one_order_explains_every_answer(
    postgres: PostgresServer, emptied: str
):
    url = postgres.url(emptied)
    async with control_planes(url, 4) as stores:
        await with_cameras(stores[0], *CAMERAS)
        await with_runners(stores[0], *(an_owner(f"runner-{number}") for number in range(CLIENTS)))
        clients = await play(stores, url)
        grants = {camera_id: await stores[0].history(camera_id) for camera_id in CAMERAS}
    written = [entry for client in clients for entry in client.written]
    assert any(operation.answer == UNKNOWN for _, operation in written)
    for camera_id in CAMERAS:
        history = grants[camera_id]
        assert [grant.generation for grant in history] == list(range(1, len(history) + 1))
        assert sorted({grant.granted_at for grant in history}) == [grant.granted_at for grant in history]
        operations = [operation for camera, operation in written if camera == camera_id]
        assert is_explained(operations, {grant.generation: grant.owner for grant in history})


def operation(verb: Verb, owner: str, answer: Answer, *, at: tuple[float, float], generation: int = 0) -> Operation:
    called_at, answered_at = at
    return Operation(
        verb=verb,
        owner=an_owner(owner),
        generation=generation,
        answer=answer,
        called_at=called_at,
        answered_at=answered_at,
    )


@pytest.mark.parametrize(
    ("operations", "grants", "explained"),
    [
        ([("a", 1, (0, 1)), ("b", 2, (2, 3))], "ab", False),  # nobody released
        ([("a", 1, (0, 1)), ("b", REFUSED, (2, 3))], "a", True),
        ([("a", 1, (2, 3)), ("b", REFUSED, (0, 1))], "a", False),  # refused while it was free
        ([("a", 1, (0, 3)), ("b", REFUSED, (1, 2))], "a", True),
        ([("a", UNKNOWN, (0, 1)), ("b", REFUSED, (2, 3))], "a", True),
        ([("a", UNKNOWN, (0, 1)), ("b", 1, (2, 3))], "b", True),
        ([("a", 1, (0, 1)), ("b", 1, (0, 1))], "a", False),  # one generation, two owners
        ([("a", 1, (0, 1))], "ab", False),  # a grant that nobody asked for
    ],
)
def test_the_search_tells_histories_that_can_be_from_those_that_cannot(operations, grants, explained):
    history = [operation(Verb.ACQUIRE, owner, answer, at=at) for owner, answer, at in operations]
    assert is_explained(history, {number: an_owner(owner) for number, owner in enumerate(grants, 1)}) is explained
