"""What a fleet of our own needs to be known: a tenant, a site on this host, its cameras, and the runners' keys.

Idempotent: what is there stays, a camera whose recorder has moved gets its new address, and one that the recorder does
not have any more is disabled. What is not of this tenant is left alone.
"""

import secrets
from collections.abc import Mapping
from pathlib import Path

from streamward.drivers.key_pair import KeyPair, StoredIdentity
from streamward.model.identity import Role
from streamward.model.secret import Secret
from streamward.protocol.cameras import CameraDetails, CameraPage, CameraRow, ChangeCamera, CreateCamera
from streamward.protocol.fields import LARGEST_PAGE, ClearText
from streamward.protocol.identities import AskToken, CreateInvitation, IdentityDetails, InvitationMade, RedeemCode
from streamward.protocol.sites import CreateSite, SiteDetails, SourceRules
from streamward.protocol.tenants import CreateTenant, TenantDetails
from streamward.runtime.clock import Clock
from streamward.up.api import Api

TENANT, SITE = "demo", "demo-site"
_HERE = "127.0.0.0/8"
_DIALS, _DIALS_PER_MINUTE = 100, 6000.0  # a recorder that is simulated can take it


def furnish(api: Api, cameras: Mapping[str, str]) -> None:
    """Makes cameras known, by the URL of each; tenant and site first."""
    make_place(api)
    page = api.get(f"/v1/cameras?site_id={SITE}&limit={LARGEST_PAGE}", CameraPage)
    known = {row.camera_uuid: row for row in page.items}
    for camera, url in cameras.items():
        if camera in known:
            _mend(api, known[camera], url)
        else:
            message = CreateCamera(site_id=SITE, camera_uuid=camera, rtsp_url=ClearText(Secret(url)))
            api.post("/v1/cameras", message, CameraDetails)
    for camera, row in known.items():
        if camera not in cameras and row.enabled:
            api.patch(f"/v1/cameras/{camera}", ChangeCamera(enabled=False), CameraDetails)


def make_place(api: Api) -> None:
    """The tenant, and its site, whose cameras may be on loopback."""
    if api.find(f"/v1/tenants/{TENANT}", TenantDetails) is None:
        api.post("/v1/tenants", CreateTenant(tenant_id=TENANT), TenantDetails)
    if api.find(f"/v1/sites/{SITE}", SiteDetails) is None:
        site = CreateSite(
            site_id=SITE,
            tenant_id=TENANT,
            capacity=_DIALS,
            refill_rate=_DIALS_PER_MINUTE,
            sources=SourceRules(allow=[_HERE]),
        )
        api.post("/v1/sites", site, SiteDetails)


def enrol(api: Api, runner_id: str, path: Path, *, clock: Clock) -> None:
    """Sees to it that the key pair in that file proves a runner; makes one if it does not."""
    if path.exists() and _is_known(api, StoredIdentity.load(path), clock):
        return
    stored = StoredIdentity(url=api.url, pair=KeyPair.new(), role=Role.RUNNER)
    invitation = CreateInvitation(subject=runner_id, role=Role.RUNNER, tenant_id=TENANT)
    code = api.post("/v1/invitations", invitation, InvitationMade).code
    api.post("/v1/identities", RedeemCode(code=code, public_key=stored.pair.public_key), IdentityDetails)
    stored.save(path)


def _mend(api: Api, row: CameraRow, url: str) -> None:
    if row.rtsp_url != url or not row.enabled:
        message = ChangeCamera(rtsp_url=ClearText(Secret(url)), enabled=True)
        api.patch(f"/v1/cameras/{row.camera_uuid}", message, CameraDetails)


def _is_known(api: Api, stored: StoredIdentity, clock: Clock) -> bool:
    """A database may have been changed for another since the key was made."""
    assertion = stored.pair.assertion(now=int(clock.wall().timestamp()), incarnation=secrets.token_hex(8))
    return api.asks("/v1/tokens", AskToken(assertion=ClearText(Secret(assertion))))
