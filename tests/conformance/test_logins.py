"""The login port, on every driver."""

import asyncio
from dataclasses import replace
from random import Random

from streamward.leases.lease import Owner
from streamward.leases.login_talk import CameraLogin, LoginKey, LoginPlace, LoginsJudged, LoginTalk, LoginTold, judge
from streamward.leases.logins import PARKED_FOR, TRIED_FOR, LoginId, LoginOutcome, LoginRecord, Permission
from streamward.model.ids import CameraId, TenantId
from tests.support.builders import CAMERA, TENANT, an_owner
from tests.support.fleet import remove_camera, take, with_cameras, with_runners
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2", incarnation="inc-2")
LOGIN, OTHER = LoginId("a" * 64), LoginId("b" * 64)
GO, WAIT, PARKED = Permission.GO, Permission.WAIT, Permission.PARKED
ACCEPTED, REFUSED, GAVE_UP = LoginOutcome.ACCEPTED, LoginOutcome.REFUSED, LoginOutcome.GAVE_UP
CAMERAS = ("cam-1", "cam-2", "cam-3")


async def with_a_fleet(world: World) -> None:
    """The first runner holds two cameras, the second one."""
    await with_cameras(world.store, *CAMERAS)
    await with_runners(world.store, ONE, TWO)
    for owner, camera_id in zip((ONE, ONE, TWO), CAMERAS, strict=True):
        await take(world.store, owner, camera_id)


def asks(*camera_ids: str, owner: Owner = ONE, login: LoginId = LOGIN) -> LoginTalk:
    return LoginTalk(owner=owner, asks=tuple(CameraLogin(camera_id=CameraId(each), login=login) for each in camera_ids))


def tells(outcome: LoginOutcome, camera_id: str = CAMERA, *, owner: Owner = ONE, login: LoginId = LOGIN) -> LoginTalk:
    return LoginTalk(owner=owner, told=(LoginTold(camera_id=CameraId(camera_id), login=login, outcome=outcome),))


async def say(world: World, talk: LoginTalk, *, scope: TenantId | None = TENANT) -> LoginsJudged:
    return await world.store.judge_logins(talk, scope=scope)


async def answers(world: World, talk: LoginTalk, *, scope: TenantId | None = TENANT) -> list[Permission]:
    return [each.permission for each in (await say(world, talk, scope=scope)).answers]


async def refused_twice(world: World) -> None:
    for camera_id, owner in (("cam-1", ONE), ("cam-3", TWO)):
        assert await answers(world, asks(camera_id, owner=owner)) == [GO]
        await say(world, tells(REFUSED, camera_id, owner=owner))


async def test_one_tries_while_the_others_wait_also_those_of_another_runner(world: World):
    await with_a_fleet(world)
    assert await answers(world, asks("cam-1", "cam-2")) == [GO, WAIT]
    assert await answers(world, asks("cam-3", owner=TWO)) == [WAIT]
    await say(world, tells(ACCEPTED))
    assert await answers(world, asks("cam-1", "cam-2")) == [GO, GO]
    assert await answers(world, asks("cam-3", owner=TWO)) == [GO]


async def test_two_refusals_park_every_runner_for_a_quarter_of_an_hour_at_every_control_plane(world: World):
    await with_a_fleet(world)
    await refused_twice(world)
    async with world.another() as other:
        [answer] = (await other.judge_logins(asks("cam-2"), scope=TENANT)).answers
    assert (answer.permission, answer.login, answer.retry_in) == (PARKED, LOGIN, PARKED_FOR)
    await world.advance(PARKED_FOR - 1)
    assert await answers(world, asks("cam-3", owner=TWO)) == [PARKED]
    await world.advance(1)
    assert await answers(world, asks("cam-2")) == [GO]


async def test_who_is_parked_by_a_talk_is_told_once(world: World):
    await with_a_fleet(world)
    assert (await say(world, tells(REFUSED))).parked == ()
    assert (await say(world, tells(REFUSED))).parked == ()  # told again, it is the same refusal
    assert (await say(world, tells(REFUSED, "cam-2"))).parked == ("cam-2",)
    assert (await say(world, tells(REFUSED, "cam-3", owner=TWO))).parked == ()


async def test_another_credential_goes_at_once(world: World):
    await with_a_fleet(world)
    await refused_twice(world)
    assert await answers(world, asks("cam-1", login=OTHER)) == [GO]


async def test_a_parked_login_is_found_and_allowed_one_more_try(world: World):
    names = [OTHER, LOGIN]  # of which the first is the newer
    await with_a_fleet(world)
    assert await world.store.find_login(TENANT, names) is None
    assert not await world.store.retry_login(TENANT, names)
    await refused_twice(world)
    found = await world.store.find_login(TENANT, names)
    assert found is not None
    assert [each.by.camera_id for each in found.refused] == ["cam-1", "cam-3"]
    assert await world.store.find_login(TenantId("tenant-2"), names) is None
    assert not await world.store.retry_login(TenantId("tenant-2"), names)
    assert await world.store.retry_login(TENANT, names)
    assert not await world.store.retry_login(TENANT, names)
    assert await answers(world, asks("cam-1", "cam-2")) == [GO, WAIT]
    await say(world, tells(REFUSED))
    assert await answers(world, asks("cam-2")) == [PARKED]


async def test_a_runner_that_died_before_it_told_counts_as_refused(world: World):
    await with_a_fleet(world)
    await say(world, tells(REFUSED))
    assert await answers(world, asks("cam-1")) == [GO]
    assert await answers(world, asks("cam-3", owner=TWO)) == [WAIT]
    await world.advance(TRIED_FOR)
    assert await answers(world, asks("cam-3", owner=TWO)) == [PARKED]


async def test_a_try_that_was_given_up_costs_nothing(world: World):
    await with_a_fleet(world)
    for _ in range(5):
        assert await answers(world, asks("cam-1")) == [GO]
        await say(world, tells(GAVE_UP))


async def test_a_login_is_its_tenants(world: World):
    other = TenantId("tenant-2")
    await with_a_fleet(world)
    await with_cameras(world.store, "cam-9", site="site-2", tenant=other)
    await take(world.store, TWO, "cam-9")
    await refused_twice(world)
    assert await answers(world, asks("cam-9", owner=TWO), scope=other) == [GO]
    for _ in range(3):
        await say(world, tells(ACCEPTED, "cam-9", owner=TWO), scope=other)
        assert await answers(world, asks("cam-1"), scope=other) == []  # not of that scope
    assert await answers(world, asks("cam-1", "cam-9"), scope=None) == [PARKED]


async def test_only_who_holds_a_camera_asks_and_tells(world: World):
    await with_a_fleet(world)
    later = an_owner("runner-1", incarnation="inc-9")
    for owner in (TWO, later):
        assert await answers(world, asks("cam-1", "absent", owner=owner)) == []
        for _ in range(2):
            await say(world, tells(REFUSED, owner=owner))
    assert await answers(world, asks("cam-1")) == [GO]


async def test_who_lost_a_camera_may_still_tell_how_its_try_ended(world: World):
    await with_a_fleet(world)
    await say(world, tells(REFUSED))
    assert await answers(world, asks("cam-1")) == [GO]
    await world.store.end(ONE)
    assert (await say(world, tells(REFUSED))).parked == (CAMERA,)
    assert await answers(world, asks("cam-3", owner=TWO)) == [PARKED]


async def test_a_camera_that_is_gone_has_no_login(world: World):
    await with_a_fleet(world)
    await remove_camera(world.store)
    assert await answers(world, asks("cam-1", "cam-2")) == [GO]
    assert await say(world, tells(REFUSED)) == LoginsJudged()


async def test_many_at_the_same_time_are_let_go_one_by_one(world: World):
    await with_a_fleet(world)
    talks = [asks("cam-1"), asks("cam-2"), asks("cam-3", owner=TWO)] * 4
    async with world.another() as other:
        stores = (world.store, other)
        judged = await asyncio.gather(
            *(stores[place % 2].judge_logins(talk, scope=None) for place, talk in enumerate(talks))
        )
    going = sum(each.permission is GO for one in judged for each in one.answers)
    assert going <= 2  # a camera that asks twice has counted its first try as refused


async def test_several_logins_in_one_message_are_answered_in_order(world: World):
    await with_a_fleet(world)
    both = (*asks("cam-2", login=OTHER).asks, *asks("cam-1").asks)
    told = tells(REFUSED, login=OTHER).told
    judged = await say(world, LoginTalk(owner=ONE, told=told, asks=both))
    assert [(each.camera_id, each.login, each.permission) for each in judged.answers] == [
        ("cam-2", OTHER, GO),
        ("cam-1", LOGIN, GO),
    ]


async def test_a_login_that_is_called_otherwise_is_still_the_same(world: World):
    await with_a_fleet(world)
    await refused_twice(world)
    renamed = replace(asks("cam-1", login=OTHER), formerly={OTHER: (LOGIN,)})
    assert await answers(world, renamed) == [PARKED]
    assert await answers(world, asks("cam-1", login=OTHER)) == [PARKED]
    assert await answers(world, asks("cam-1")) == [GO]


async def test_a_long_story_goes_as_the_rule_says(world: World):
    await with_a_fleet(world)
    random = Random(8)
    records: dict[LoginKey, LoginRecord] = {}
    places = {CameraId(each): LoginPlace(tenant_id=TENANT, is_held=each != "cam-3") for each in CAMERAS}
    for _ in range(150):
        login, camera_id = random.choice((LOGIN, OTHER)), random.choice(CAMERAS)
        talk = asks(camera_id, login=login)
        if random.random() < 0.5:
            talk = tells(random.choice([REFUSED, REFUSED, GAVE_UP, ACCEPTED]), camera_id, login=login)
        records, expected = judge(talk, places, records, now=world.clock.wall().timestamp())
        assert await say(world, talk) == expected
        await world.sleep(random.choice([0.0, 1.0, 3.0, TRIED_FOR, 400.0]))
