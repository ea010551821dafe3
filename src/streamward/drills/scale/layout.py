"""Which cameras a scale drill has, where they are, and whose: sites of equal size, a tenant for every five of them."""

import math
from dataclasses import dataclass
from typing import Any

SITES_PER_TENANT = 5
DIALS = 20  # of each site at once
FEW = 10  # the fleet begins with one camera in so many


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All of a fleet."""

    cameras: int = 1000
    sites: int = 50
    runners: int = 25
    capacity: int = 40  # cameras that a runner takes
    kills: int = 5  # runners, all at once; as many more stand by then

    @property
    def room(self) -> int:
        """How many cameras the runners can hold."""
        return self.runners * self.capacity

    @property
    def few(self) -> int:
        """Cameras of the small fleet that it begins as."""
        return max(1, self.cameras // FEW)

    @property
    def first_runners(self) -> list[str]:
        """Those that hold these."""
        return self.runner_ids[: math.ceil(self.few / self.capacity)]

    @property
    def runner_ids(self) -> list[str]:
        return [f"runner-{number:02}" for number in range(1, self.runners + 1)]

    @property
    def standbys(self) -> list[str]:
        """Runners that come before others are killed: those who are left have no room for more."""
        return [f"standby-{number:02}" for number in range(1, self.kills + 1)]

    @property
    def tenants(self) -> list[str]:
        return list(dict.fromkeys(map(tenant_of, range(self.sites))))

    def all_sites(self) -> list[dict[str, Any]]:
        """As the control plane is told of them."""
        rules = {"capacity": DIALS, "refill_rate": 60 * DIALS, "sources": {"kinds": ["null"]}}
        return [{"site_id": site_name(site), "tenant_id": tenant_of(site), **rules} for site in range(self.sites)]

    def described(self, first: int, last: int) -> list[dict[str, Any]]:
        """Cameras by their numbers, the last not among them."""
        return [
            {
                "camera_uuid": (name := f"cam-{number:05}"),
                "site_id": site_name(number * self.sites // self.cameras),
                "rtsp_url": f"null:///{name}",
            }
            for number in range(first, last)
        ]


def site_name(site: int) -> str:
    """Of a site, by its number."""
    return f"site-{site + 1:03}"


def tenant_of(site: int) -> str:
    """Whose a site is."""
    return f"tenant-{site // SITES_PER_TENANT + 1:02}"
