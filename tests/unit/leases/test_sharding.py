"""The shard planner: one tenant each, by site, sticky, the same for the same input (S0-016…018, S0-096)."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamward.leases.sharding import OwnedCamera, Shard, TargetTooSmall, assign, packed
from streamward.model.ids import CameraId, ShardId, TenantId
from tests.support.builders import TENANT, an_owned_camera


def cameras(count: int, *, site: str = "site-1", tenant: str = TENANT) -> list[OwnedCamera]:
    return [an_owned_camera(f"{tenant}-{site}-{n:02}", site=site, tenant=tenant) for n in range(count)]


def a_shard(number: int, fleet: list[OwnedCamera]) -> Shard:
    held = tuple(camera.camera_id for camera in fleet)
    return Shard(shard_id=ShardId(f"shard-{number}"), tenant_id=TENANT, cameras=held)


def sizes(shards: Sequence[Shard]) -> list[int]:
    return [len(shard.cameras) for shard in shards]


def homes(shards: Sequence[Shard]) -> dict[CameraId, ShardId]:
    return {camera_id: shard.shard_id for shard in shards for camera_id in shard.cameras}


def moved(before: Sequence[Shard], after: Sequence[Shard]) -> set[CameraId]:
    old, new = homes(before), homes(after)
    return {camera_id for camera_id in old.keys() & new.keys() if old[camera_id] != new[camera_id]}


def test_a_site_fills_shards_up_to_the_target_and_the_rest_shares_one():
    assert sizes(assign(cameras(30), [])) == [12, 12, 6]


def test_cameras_of_a_small_site_stay_together_and_small_sites_fill_what_large_ones_left():
    sites = [*cameras(4, site="a"), *cameras(5, site="b"), *cameras(7, site="c"), *cameras(7, site="d")]
    plan = assign(sites, [])
    assert [{camera_id.split("-")[2] for camera_id in shard.cameras} for shard in plan] == [{"b", "c"}, {"a", "d"}]


def test_tenants_never_share_a_shard():
    plan = assign([*cameras(2, tenant="red"), *cameras(2, tenant="blue")], [])
    assert [(shard.shard_id, shard.tenant_id) for shard in plan] == [("shard-0", "blue"), ("shard-1", "red")]


def test_a_newcomer_joins_the_shard_that_has_most_of_its_site():
    some, most = cameras(5, site="a")[:2], cameras(5, site="a")[2:]
    before = [a_shard(0, [*some, *cameras(9, site="b")]), a_shard(1, most)]
    after = assign([*some, *most, *cameras(9, site="b"), an_owned_camera("new", site="a")], before)
    assert moved(before, after) == set()
    assert homes(after)[CameraId("new")] == "shard-1"


def test_a_newcomer_of_an_unknown_site_joins_the_fullest_shard_that_has_room():
    full, fuller, fullest = cameras(9, site="a"), cameras(12, site="b"), cameras(10, site="c")
    before = [a_shard(0, full), a_shard(1, fuller), a_shard(2, fullest)]
    after = assign([*full, *fuller, *fullest, an_owned_camera("new", site="d")], before)
    assert homes(after)[CameraId("new")] == "shard-2"


def test_when_the_target_shrinks_the_largest_site_of_a_shard_stays():
    fleet = [*cameras(4, site="a"), *cameras(8, site="b")]
    after = assign(fleet, [a_shard(0, fleet)], target=9)
    assert sizes(after) == [9, 3]
    assert moved([a_shard(0, fleet)], after) == {CameraId(f"{TENANT}-a-0{n}") for n in (1, 2, 3)}


def test_a_shard_ends_with_its_last_camera_and_its_id_rests_for_one_plan():
    before = assign([*cameras(12, site="a"), *cameras(12, site="b")], [])
    swapped = assign([*cameras(12, site="b"), *cameras(12, site="c")], before)
    later = assign([*cameras(12, site="b"), *cameras(12, site="c"), *cameras(12, site="d")], swapped)
    assert [shard.shard_id for shard in before] == ["shard-0", "shard-1"]
    assert [shard.shard_id for shard in swapped] == ["shard-1", "shard-2"]
    assert [shard.shard_id for shard in later] == ["shard-0", "shard-1", "shard-2"]


def test_a_camera_that_changed_its_tenant_leaves_its_shard():
    before = assign([an_owned_camera("a", tenant="red"), an_owned_camera("b", tenant="red")], [])
    after = assign([an_owned_camera("a", tenant="blue"), an_owned_camera("b", tenant="red")], before)
    assert homes(after) == {"a": "shard-1", "b": "shard-0"}


def test_a_camera_that_two_previous_shards_claim_is_in_one():
    twice = [
        Shard(shard_id=ShardId(f"shard-{n}"), tenant_id=TENANT, cameras=(CameraId("a"), CameraId("a"))) for n in (0, 1)
    ]
    assert assign([an_owned_camera("a")], twice) == [
        Shard(shard_id=ShardId("shard-0"), tenant_id=TENANT, cameras=(CameraId("a"),))
    ]


def test_shards_come_in_the_order_of_their_numbers():
    assert [shard.shard_id for shard in assign(cameras(11), [], target=1)] == [f"shard-{n}" for n in range(11)]


def test_a_target_without_room_is_refused():
    with pytest.raises(TargetTooSmall, match="not 0"):
        assign([], [], target=0)


fleets = st.lists(
    st.builds(
        an_owned_camera,
        st.integers(0, 60).map("cam-{}".format),
        site=st.sampled_from("abcde"),
        tenant=st.sampled_from(["red", "blue"]),
    ),
    unique_by=lambda camera: camera.camera_id,
    max_size=50,
)
targets = st.integers(1, 14)


@given(fleets, fleets, targets, targets)
def test_every_camera_is_in_one_shard_of_its_tenant_and_no_shard_is_too_large(first, second, target, later):
    for shards, fleet, limit in (
        (before := assign(first, [], target=target), first, target),
        (assign(second, before, target=later), second, later),
    ):
        tenants = {camera.camera_id: camera.tenant_id for camera in fleet}
        assert Counter(camera_id for shard in shards for camera_id in shard.cameras) == Counter(tenants.keys())
        assert all(tenants[camera_id] == shard.tenant_id for shard in shards for camera_id in shard.cameras)
        assert all(1 <= len(shard.cameras) <= limit for shard in shards)
        assert len({shard.shard_id for shard in shards}) == len(shards)


@given(fleets, fleets, targets, st.integers())
def test_the_order_in_which_cameras_and_shards_are_told_does_not_matter(first, second, target, seed):
    rng = Random(seed)
    before = assign(first, [], target=target)
    shuffled = [
        Shard(
            shard_id=each.shard_id, tenant_id=each.tenant_id, cameras=tuple(rng.sample(each.cameras, len(each.cameras)))
        )
        for each in rng.sample(before, len(before))
    ]
    assert assign(rng.sample(second, len(second)), shuffled, target=target) == assign(second, before, target=target)


@given(fleets, fleets, targets, targets)
def test_a_camera_moves_only_if_its_shard_is_too_large_and_no_more_than_that_takes(first, second, target, later):
    before = assign(first, [], target=target)
    after = assign(second, before, target=later)
    stays = {camera.camera_id for camera in set(first) & set(second)}  # same tenant and site
    gone = {camera.camera_id for camera in first if camera.camera_id not in {each.camera_id for each in second}}
    for shard in before:
        wanted = [camera_id for camera_id in shard.cameras if camera_id not in gone]
        surplus = max(0, len(wanted) - later)
        assert len(moved([shard], after) & stays) <= surplus


@given(fleets, targets, st.data())
def test_one_camera_more_or_less_moves_nobody(fleet, target, data):
    before = assign(fleet, [], target=target)
    more = assign([*fleet, an_owned_camera("new", site="a", tenant="red")], before, target=target)
    assert moved(before, more) == set()
    if fleet:
        lost = data.draw(st.sampled_from(fleet))
        less = assign([camera for camera in fleet if camera != lost], before, target=target)
        assert moved(before, less) == set()
    assert assign(fleet, before, target=target) == before


@given(fleets, targets)
def test_a_plan_from_nothing_has_fewer_than_twice_the_least_number_of_shards(fleet, target):
    plan = assign(fleet, [], target=target)
    for tenant in ("red", "blue"):
        owned = sum(camera.tenant_id == tenant for camera in fleet)
        shards = sum(shard.tenant_id == tenant for shard in plan)
        assert shards <= 1 or shards < 2 * owned / target


@given(fleets, fleets, targets)
def test_a_shard_is_opened_only_for_cameras_that_fit_nowhere(first, second, target):
    before = assign(first, [], target=target)
    after = assign(second, before, target=target)
    opened = [shard for shard in after if shard.shard_id not in {old.shard_id for old in before}]
    for new in opened:
        others = [shard for shard in after if shard.tenant_id == new.tenant_id and shard != new]
        assert all(len(new.cameras) + len(other.cameras) > target for other in others)


@given(fleets, fleets, targets)
def test_packing_dissolves_one_shard_at_most_and_leaves_a_quarter_free(first, second, target):
    before = assign(second, assign(first, [], target=target), target=target)
    after = packed(before, target=target)
    assert len(before) - len(after) in {0, 1}
    assert sorted(each for shard in after for each in shard.cameras) == sorted(
        each for shard in before for each in shard.cameras
    )
    grown = [shard for shard in after if shard not in before]
    assert all(len(shard.cameras) <= 0.75 * target for shard in grown)
    kept = {shard.shard_id for shard in after}
    gone = {camera_id for shard in before if shard.shard_id not in kept for camera_id in shard.cameras}
    assert moved(before, after) == gone


@given(fleets, targets)
def test_what_is_packed_stays_so_while_one_camera_comes_and_goes(fleet, target):
    plan = assign(fleet, [], target=target)
    while (tighter := packed(plan, target=target)) != plan:
        plan = tighter
    new = an_owned_camera("new", site="a", tenant="red")
    more = packed(assign([*fleet, new], plan, target=target), target=target)
    less = assign(fleet, more, target=target)
    assert moved(plan, less) == set()


def test_what_many_cameras_have_left_is_packed_into_the_fullest_that_has_room():
    def shard(name: str, *cameras: str, tenant: str = "red", make: int = 0) -> Shard:
        return Shard(
            shard_id=ShardId(name), tenant_id=TenantId(tenant), cameras=tuple(map(CameraId, cameras)), make=make
        )

    left = [shard("shard-0", "a"), shard("shard-1", "b", "c"), shard("shard-2", "d", "e", "f", "g")]
    strangers = [shard("shard-3", "x", tenant="blue"), shard("shard-4", "y", make=1)]
    assert packed([*left, *strangers], target=8) == [left[1], shard("shard-2", *"adefg"), *strangers]
    assert packed([left[2], *strangers], target=4) == [left[2], *strangers]
