"""A small fleet to try things on: two tenants, three sites, twelve cameras."""

from typing import Protocol

from streamward.leases.store import CameraStore
from streamward.model.address_policy import AddressPolicy, parse_network
from streamward.model.camera import Camera, LeasePolicyName, Site
from streamward.model.ids import CameraId, SiteId, TenantId
from streamward.model.register import Register
from streamward.runtime.clock import Clock

_HERE = AddressPolicy(allow=(parse_network("127.0.0.0/8"),))  # its cameras are simulated on this host
SITES = (
    Site(site_id=SiteId("harbour"), tenant_id=TenantId("north"), addresses=_HERE),
    Site(site_id=SiteId("depot"), tenant_id=TenantId("north"), addresses=_HERE),
    Site(site_id=SiteId("vineyard"), tenant_id=TenantId("south"), policy=LeasePolicyName.STICKY, addresses=_HERE),
)
CAMERAS_PER_SITE = 4
FIRST_PORT = 8554


class Fleet(CameraStore, Register, Protocol):
    """The ports that know cameras and sites."""


async def seed(store: Fleet, *, clock: Clock) -> None:
    """Adds what is missing of the fleet, and leaves alone what is there."""
    for number, site in enumerate(SITES):
        if await store.find_site(site.site_id, scope=None) is None:
            await store.save_site(site)
        for camera in _cameras(site, port=FIRST_PORT + number, clock=clock):
            if await store.find_camera(camera.camera_id, scope=None) is None:
                await store.save_camera(camera)


def _cameras(site: Site, *, port: int, clock: Clock) -> list[Camera]:
    return [
        Camera(
            camera_id=CameraId(f"{site.site_id}-{number}"),
            tenant_id=site.tenant_id,
            site_id=site.site_id,
            rtsp_url=f"rtsp://127.0.0.1:{port}/{site.site_id}-{number}",
            updated_at=clock.wall(),
        )
        for number in range(1, CAMERAS_PER_SITE + 1)
    ]
