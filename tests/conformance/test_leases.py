"""The lease port, on every driver."""

from streamward.leases.lease import DenialReason, Denied
from streamward.leases.store import Claim, Granted
from tests.support.builders import CAMERA, a_camera, a_spec, an_owner
from tests.support.stores import World

ONE, TWO = an_owner("runner-1"), an_owner("runner-2")


async def test_a_free_camera_is_granted_once(world: World):
    await world.store.save_camera(a_camera())
    await world.store.register(a_spec(ONE))
    await world.store.register(a_spec(TWO))
    granted = await world.store.acquire(Claim(owner=ONE, camera_id=CAMERA))
    assert isinstance(granted, Granted)
    assert await world.store.acquire(Claim(owner=TWO, camera_id=CAMERA)) == Denied(DenialReason.HELD)
