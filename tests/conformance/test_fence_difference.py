"""The bridge from the fence to SQL: whatever was granted, and whoever says that he saw what when, both judge alike."""

import asyncio
from dataclasses import fields
from datetime import datetime, timedelta
from functools import partial

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from streamward.drivers.sql import SqlStore
from streamward.drivers.sql.statement import statement
from streamward.insight.store import Made, Seen
from streamward.insight.zone_events import Crossed
from streamward.leases.fence import Stamp, Verdict, admit, dated
from streamward.leases.lease import Grant, Owner
from streamward.model.ids import CameraId, Generation
from streamward.model.zone import Crossing
from tests.support.builders import START, an_owner
from tests.support.sightings import a_crossed, a_seen
from tests.support.stores import MakeRows, World, a_world, postgres_rows, sqlite_rows

OWNERS = [an_owner(runner_id, incarnation=each) for runner_id in ("runner-1", "runner-2") for each in ("i-1", "i-2")]
CAMERAS = [CameraId("cam-1"), CameraId("cam-2")]
GRANT = statement(
    "INSERT INTO lease_grants (camera_uuid, generation, runner_id, incarnation, granted_at)"
    " VALUES (:camera_uuid, :generation, :runner_id, :incarnation, :granted_at)"
)

PHASES = (Phase.reuse, Phase.generate)  # to shrink what was found takes a database many minutes

BEFORE = timedelta(microseconds=3)

Granted = dict[Generation, Grant]


def instant(tick: int) -> datetime:
    return START + timedelta(microseconds=tick)


ticks = st.integers(-6, 6) | st.integers(-(10**9), 10**9)  # mostly next to each other, where the edges are
owners = st.sampled_from(OWNERS)


@st.composite
def histories(draw: st.DrawFn) -> dict[CameraId, Granted]:
    """Grants of two cameras, each history with rising instants."""
    found: dict[CameraId, Granted] = {}
    for camera_id in CAMERAS:
        moments = sorted(draw(st.sets(ticks, max_size=4)))
        found[camera_id] = {
            Generation(number): Grant(
                camera_id=camera_id, generation=Generation(number), owner=draw(owners), granted_at=instant(moment)
            )
            for number, moment in enumerate(moments, start=1)
        }
    return found


@st.composite
def offers(draw: st.DrawFn) -> tuple[dict[CameraId, Granted], datetime, list[Seen]]:
    """Detections at the edges of grants and of the present, one microsecond beside them, and anywhere."""
    granted = draw(histories())
    now = instant(draw(ticks))
    edges = [now, *(grant.granted_at for each in granted.values() for grant in each.values())]
    beside = [edge + timedelta(microseconds=tick) for edge in edges for tick in (-1, 0, 1)]
    moments = st.sampled_from(beside) | ticks.map(instant)
    anybody = st.tuples(st.sampled_from(CAMERAS), st.integers(0, 6), owners)
    owned = [(each.camera_id, each.generation, each.owner) for known in granted.values() for each in known.values()]
    who = st.sampled_from(owned) | anybody if owned else anybody
    made = draw(st.lists(st.tuples(who, moments), min_size=10, max_size=30))
    seen = [
        a_seen(f"event-{place}", camera_id=camera_id, generation=generation, owner=owner, made_at=moment)
        for place, ((camera_id, generation, owner), moment) in enumerate(made)
    ]
    return granted, now, seen


def left(seen: Seen) -> Crossed:
    """Somebody was last in a zone a moment before that frame."""
    made = {each.name: getattr(seen, each.name) for each in fields(Made)}
    return a_crossed(**made, happened_at=seen.made_at - BEFORE, kind=Crossing.LEAVE)


def judged(seen: Seen, granted: Granted, now: datetime) -> tuple[bool, datetime] | None:
    """What the rule says: whether it is late, and its date; None: refused."""
    stamp = Stamp(
        camera_id=seen.camera_id,
        generation=seen.generation,
        owner=Owner(seen.runner_id, seen.incarnation),
        made_at=seen.made_at,
    )
    verdict = admit(stamp, granted, now=now)
    return None if verdict is Verdict.REFUSED else (verdict is Verdict.LATE, dated(stamp, now=now))


async def write(world: World, granted: dict[CameraId, Granted]) -> None:
    assert isinstance(world.store, SqlStore)
    async with world.store.database.transaction() as tx:
        for camera_id, each in granted.items():
            for generation, grant in each.items():
                owner = {"runner_id": grant.owner.runner_id, "incarnation": grant.owner.incarnation}
                named = {"camera_uuid": camera_id, "generation": generation, "granted_at": grant.granted_at}
                await tx.execute(GRANT, {**named, **owner})


async def compare(make_rows: MakeRows, granted: dict[CameraId, Granted], now: datetime, seen: list[Seen]) -> None:
    async with a_world(make_rows) as world:
        await write(world, granted)
        await world.step_database_clock((now - START).total_seconds())
        admitted = await world.insight.detections.admit(seen)
        noted = await world.insight.zone_events.admit([left(each) for each in seen])
    assert admitted.at == now
    found = [None if each is None else (each.is_late, each.made_at) for each in admitted.stored]
    assert found == [judged(each, granted[each.camera_id], now) for each in seen]
    happened_at = [min(each.made_at - BEFORE, now) for each in seen]
    assert [None if each is None else (each.is_late, each.made_at) for each in noted] == [
        None if each is None else (each[0], moment) for each, moment in zip(found, happened_at, strict=True)
    ]


def test_sqlite_judges_as_the_fence_does(migrated_file):
    @settings(max_examples=100, phases=PHASES)
    @given(offers())
    def check(offer):
        asyncio.run(compare(partial(sqlite_rows, migrated_file), *offer))

    check()


def test_postgresql_judges_as_the_fence_does(postgres):
    @settings(max_examples=60, phases=PHASES)
    @given(offers())
    def check(offer):
        asyncio.run(compare(partial(postgres_rows, postgres), *offer))

    check()
