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
from streamward.leases.fence import StampedRecord, Verdict, admit, dated
from streamward.leases.lease import Grant, Owner
from streamward.model.ids import CameraId, Generation, TenantId
from streamward.model.zone import Crossing
from tests.support.builders import SITE, START, TENANT, an_owner
from tests.support.sightings import a_crossed, a_seen
from tests.support.stores import MakeRows, World, a_world, postgres_rows, sqlite_rows

OWNERS = [an_owner(runner_id, incarnation=each) for runner_id in ("runner-1", "runner-2") for each in ("i-1", "i-2")]
CAMERAS = [CameraId("cam-1"), CameraId("cam-2")]
GRANT = statement(
    "INSERT INTO lease_grants"
    " (camera_uuid, generation, runner_id, incarnation, tenant_id, site_id, granted_at, ended_at, made_until)"
    " VALUES (:camera_uuid, :generation, :runner_id, :incarnation, :tenant_id, :site_id, :granted_at, :ended_at,"
    " :made_until)"
)

PHASES = (Phase.reuse, Phase.generate)  # to shrink what was found takes a database many minutes

BEFORE = timedelta(microseconds=3)

Granted = dict[Generation, Grant]


def instant(tick: int) -> datetime:
    return START + timedelta(microseconds=tick)


ticks = st.integers(-6, 6) | st.integers(-(10**9), 10**9)  # mostly next to each other, where the edges are
owners = st.sampled_from(OWNERS)
tenants = st.sampled_from([TENANT, TENANT, TENANT, TenantId("tenant-2")])


@st.composite
def histories(draw: st.DrawFn) -> dict[CameraId, Granted]:
    """Grants of two cameras, each history with rising instants."""
    found: dict[CameraId, Granted] = {}
    for camera_id in CAMERAS:
        moments = sorted(draw(st.sets(ticks, max_size=4)))
        found[camera_id] = {
            Generation(number): Grant(
                camera_id=camera_id,
                generation=Generation(number),
                owner=draw(owners),
                tenant_id=draw(tenants),
                site_id=SITE,
                granted_at=instant(moment),
                ended_at=draw(st.none() | st.integers(moment, moment + 6).map(instant)),
                made_until=draw(st.none() | st.integers(moment - 6, moment + 6).map(instant)),
            )
            for number, moment in enumerate(moments, start=1)
        }
    return found


@st.composite
def offers(draw: st.DrawFn) -> tuple[dict[CameraId, Granted], datetime, list[Seen]]:
    """Detections at the edges of grants and of the present, one microsecond beside them, and anywhere."""
    granted = draw(histories())
    now = instant(draw(ticks))
    grants = [grant for each in granted.values() for grant in each.values()]
    bounds = [bound for grant in grants for bound in (grant.granted_at, grant.ended_at, grant.made_until)]
    edges = [now, *(bound for bound in bounds if bound is not None)]
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
    record = StampedRecord(
        camera_id=seen.camera_id,
        generation=seen.generation,
        owner=Owner(seen.runner_id, seen.incarnation),
        tenant_id=seen.tenant_id,
        site_id=seen.site_id,
        made_at=seen.made_at,
    )
    verdict = admit(record, granted, now=now)
    if verdict is Verdict.REFUSED:
        return None
    return verdict is Verdict.LATE, dated(seen.made_at, granted[seen.generation], now=now)


async def write(world: World, granted: dict[CameraId, Granted]) -> None:
    assert isinstance(world.store, SqlStore)
    async with world.store.database.transaction() as tx:
        for camera_id, each in granted.items():
            for generation, grant in each.items():
                owner = {"runner_id": grant.owner.runner_id, "incarnation": grant.owner.incarnation}
                named = {"camera_uuid": camera_id, "generation": generation}
                place = {"tenant_id": grant.tenant_id, "site_id": grant.site_id}
                interval = {name: getattr(grant, name) for name in ("granted_at", "ended_at", "made_until")}
                await tx.execute(GRANT, {**named, **owner, **place, **interval})


async def compare(make_rows: MakeRows, granted: dict[CameraId, Granted], now: datetime, seen: list[Seen]) -> None:
    async with a_world(make_rows) as world:
        await write(world, granted)
        await world.step_database_clock((now - START).total_seconds())
        admitted = await world.insight.detections.admit(seen)
        noted = await world.insight.zone_events.admit([left(each) for each in seen])
    assert admitted.at == now
    found = [None if each is None else (each.is_late, each.made_at) for each in admitted.stored]
    assert found == [judged(each, granted[each.camera_id], now) for each in seen]
    happened = [
        verdict and (verdict[0], dated(each.made_at - BEFORE, granted[each.camera_id][each.generation], now=now))
        for each, verdict in zip(seen, found, strict=True)
    ]
    assert [None if each is None else (each.is_late, each.made_at) for each in noted] == happened


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
