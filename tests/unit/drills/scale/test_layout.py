"""Which cameras a scale drill has, where they are, and whose."""

from collections import Counter

from streamward.drills.scale.layout import Layout

WHOLE = Layout()
SMALL = Layout(cameras=60, sites=6, runners=3, capacity=20, kills=1)


def test_a_thousand_cameras_are_spread_evenly_over_sites_and_tenants():
    cameras = WHOLE.described(0, WHOLE.cameras)
    assert len({each["camera_uuid"] for each in cameras}) == 1000
    assert set(Counter(each["site_id"] for each in cameras).values()) == {20}
    sites = WHOLE.all_sites()
    assert {each["site_id"] for each in sites} == {each["site_id"] for each in cameras}
    assert Counter(each["tenant_id"] for each in sites) == dict.fromkeys(WHOLE.tenants, 5)
    assert all(each["capacity"] >= 20 for each in sites)


def test_the_runners_have_room_for_just_all_of_them():
    assert WHOLE.room == 1000
    assert len(set(WHOLE.runner_ids)) == 25
    assert not set(WHOLE.standbys) & set(WHOLE.runner_ids)


def test_it_begins_with_a_tenth_and_as_many_runners_as_that_needs():
    assert (WHOLE.few, WHOLE.first_runners) == (100, ["runner-01", "runner-02", "runner-03"])
    assert (SMALL.few, SMALL.first_runners) == (6, ["runner-01"])
    assert WHOLE.described(0, 100) + WHOLE.described(100, 1000) == WHOLE.described(0, 1000)
