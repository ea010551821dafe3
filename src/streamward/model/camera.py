"""A camera and the site it stands at."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from streamward.model.ids import CameraId, SiteId, TenantId

_USERINFO = re.compile(r"(?<=://)[^/?#]*@")


class LeasePolicyName(StrEnum):
    """How long a runner's silence is borne; `leases.policy` has the numbers."""

    FAST = "fast"  # live cameras: another runner in seconds
    STICKY = "sticky"  # edge boxes with shaky links: wait for the old owner first
    TASK = "task"  # job engines


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A client's location: the unit of dial budgets and of lease policy."""

    site_id: SiteId
    tenant_id: TenantId
    policy: LeasePolicyName | None = None  # None: the runner's own


@dataclass(frozen=True, slots=True, kw_only=True)
class Camera:
    """One live source."""

    camera_id: CameraId
    tenant_id: TenantId
    site_id: SiteId
    rtsp_url: str
    enabled: bool = True
    do_not_process: bool = False
    updated_at: datetime

    @property
    def is_wanted(self) -> bool:
        """Whether a runner should hold it."""
        return self.enabled and not self.do_not_process


def without_credentials(url: str) -> str:
    """The URL as anyone may see it: user and password become `***`."""
    return _USERINFO.sub("***@", url)
