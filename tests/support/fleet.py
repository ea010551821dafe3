"""Small fleets in a store, and what tests do to them again and again."""

from dataclasses import replace
from typing import Any

from streamward.leases.lease import Lease, Owner
from streamward.leases.store import Claim, Granted, Kept, Named, Renewal, Renewed, Store
from streamward.model.identity import Author
from streamward.model.ids import CameraId, Generation, RunnerId, TenantId
from streamward.model.register import Edit, Edited
from streamward.model.runner import Runner
from tests.support.builders import CAMERA, a_camera, a_spec
from tests.support.stores import World

ADA = Author(subject="ada", role="operator", tenant_id=None, address="192.0.2.99", request_id="req-1")
LONG = 1000.0  # seconds: longer than any ttl and soft window


async def with_cameras(store: Store, *camera_ids: str, site: str = "site-1", tenant: str = "tenant-1") -> None:
    for camera_id in camera_ids or (CAMERA,):
        await store.save_camera(a_camera(camera_id, site=site, tenant=tenant))


async def with_runners(store: Store, *owners: Owner) -> None:
    for owner in owners:
        assert isinstance(await store.register(a_spec(owner)), Runner)


async def remove_camera(store: Store, camera_id: str = CAMERA, *, scope: TenantId | None = None) -> bool:
    """Removes a camera as a person of that scope would; returns whether there was one."""
    camera = await store.find_camera(CameraId(camera_id), scope=scope)
    return camera is not None and isinstance(await store.edit([Edit(before=camera)], author=ADA), Edited)


async def change_runner(store: Store, runner_id: str, **flags: Any) -> Runner | None:
    """Sets flags of a runner as a person would; None: there is none."""
    runner = await store.find_runner(RunnerId(runner_id))
    if runner is None:
        return None
    outcome = await store.edit([Edit(before=runner, after=replace(runner, **flags))], author=ADA)
    assert isinstance(outcome, Edited), outcome
    changed = outcome.things[0]
    assert isinstance(changed, Runner)
    return changed


async def with_a_watched_clock(world: World) -> None:
    """The control plane has seen the database's clock run evenly for long: it may judge."""
    await world.advance(LONG)


async def take(store: Store, owner: Owner, camera_id: str = CAMERA, *, ttl: float | None = None) -> Lease:
    """Acquires; fails if that is denied."""
    granted = await store.acquire(Claim(owner=owner, camera_id=CameraId(camera_id), ttl=ttl))
    assert isinstance(granted, Granted), granted
    return granted.leases[0][0]


async def renew(store: Store, owner: Owner, *leases: Lease, ttl: float | None = None) -> Renewed:
    """Renews these leases, each in its generation."""
    named = tuple(Named(lease.camera_id, lease.generation) for lease in leases)
    outcome = await store.renew(Renewal(owner=owner, leases=named, ttl=ttl))
    assert isinstance(outcome, Renewed), outcome
    return outcome


def kept(lease: Lease, *, ttl: float = 8.0) -> Kept:
    return Kept(lease.camera_id, lease.generation, ttl)


def named(camera_id: str = CAMERA, generation: int | None = None) -> Named:
    return Named(CameraId(camera_id), None if generation is None else Generation(generation))
