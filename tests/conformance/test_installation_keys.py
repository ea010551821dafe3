"""Which keys the control planes of one database share, on every driver."""

from streamward.leases.store import KeyKind
from tests.support.stores import World


async def test_the_first_control_plane_decides_which_key_all_need(world: World):
    assert await world.store.find_key(KeyKind.SIGNING) is None
    assert await world.store.agree_key(KeyKind.SIGNING, "first") == "first"
    async with world.another() as other:
        assert await other.agree_key(KeyKind.SIGNING, "second") == "first"
        assert await other.find_key(KeyKind.SIGNING) == "first"
        assert await other.agree_key(KeyKind.MASTER, "sealing") == "sealing"


async def test_a_key_that_was_changed_takes_the_place_of_the_one_before(world: World):
    await world.store.agree_key(KeyKind.MASTER, "first")
    await world.store.record_key(KeyKind.MASTER, "second")
    await world.store.record_key(KeyKind.SIGNING, "third")
    assert await world.store.agree_key(KeyKind.MASTER, "first") == "second"
    assert await world.store.find_key(KeyKind.SIGNING) == "third"
