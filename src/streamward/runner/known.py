"""What a Manager knows of the cameras that it holds: where they are, what they log in with, what their sites allow.

A source is told with the grant, and again when the camera was changed; its revision rises when it differs.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

import msgspec

from streamward.leases.sharding import OwnedCamera
from streamward.model.ids import CameraId, Generation, SiteId, TenantId
from streamward.model.secret import Secret
from streamward.protocol import shards
from streamward.protocol.fields import ClearText
from streamward.protocol.handovers import WatchCamera
from streamward.protocol.leases import AcquiredCamera, CameraSource
from streamward.protocol.problem import Problem
from streamward.protocol.sites import SiteDetails, SourceRules
from streamward.runtime.hedging import WITHIN, hedged

NOT_NOW = frozenset({
    HTTPStatus.UNAUTHORIZED,  # a fresh token is asked for
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.BAD_GATEWAY,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
})


class Asking(Protocol):
    """The control plane, as far as things are read."""

    async def get(self, path: str, kind: type[Any], *, within: float) -> Any: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """One camera."""

    tenant_id: TenantId
    site_id: SiteId
    source: CameraSource | None  # None: its credential cannot be opened
    revision: int  # of what a Worker is told of it


@dataclass(frozen=True, slots=True, kw_only=True)
class _SiteRules:
    """Which sources the cameras of one site may have, and whose certificates they show."""

    site: SourceRules
    installation: SourceRules
    tls_ca: str | None


class KnownCameras:
    """All that were granted."""

    def __init__(self, control: Asking) -> None:
        self._control = control
        self.read: dict[CameraId, int | None] = {}  # the camera's own revision when its source was told
        self._cameras: dict[CameraId, Known] = {}
        self._rules: dict[SiteId, _SiteRules] = {}

    def __iter__(self) -> Iterator[CameraId]:
        """Which those are."""
        return iter(self._cameras)

    def granted(self, lease: AcquiredCamera | WatchCamera) -> None:
        """A camera that the runner holds now, or will soon."""
        self._note(CameraId(lease.camera_uuid), TenantId(lease.tenant_id), SiteId(lease.site_id), source=lease.source)

    def keep(self, cameras: Collection[CameraId]) -> None:
        """Forgets all others, and what they log in with."""
        self._cameras = {camera_id: known for camera_id, known in self._cameras.items() if camera_id in cameras}
        self.read = {camera_id: revision for camera_id, revision in self.read.items() if camera_id in self._cameras}
        self._rules = {site_id: rules for site_id, rules in self._rules.items() if site_id in self.sites()}

    def owned(self, camera_id: CameraId) -> OwnedCamera | None:
        """What the planner needs to know; None: nothing is known of it."""
        known = self._cameras.get(camera_id)
        if known is None:
            return None
        return OwnedCamera(camera_id=camera_id, tenant_id=known.tenant_id, site_id=known.site_id)

    def revision(self, camera_id: CameraId) -> int | None:
        """Of its source; None: it cannot be dialed, for its credential or its site's rules are not known."""
        known = self._cameras.get(camera_id)
        if known is None or known.source is None or known.site_id not in self._rules:
            return None
        return known.revision

    def sites(self, *, is_missing: bool = False) -> set[SiteId]:
        """Those of all known cameras, or those whose rules were never told."""
        sites = {known.site_id for known in self._cameras.values()}
        return sites - self._rules.keys() if is_missing else sites

    def source(self, camera_id: CameraId, *, generation: Generation, epoch: int, is_dial_paid: bool) -> shards.Source:
        """A camera as its Worker is told of it."""
        known = self._cameras[camera_id]
        assert known.source is not None
        rules = self._rules[known.site_id]
        return shards.Source(
            camera_uuid=camera_id,
            url=ClearText(Secret(known.source.rtsp_url)),
            site_id=known.site_id,
            tenant_id=known.tenant_id,
            username=known.source.username,
            password=known.source.password,
            credential_version=known.source.credential_version,
            generation=generation,
            epoch=epoch,
            is_dial_paid=is_dial_paid,
            max_fps=known.source.max_fps,
            detect_every_n_frames=known.source.detect_every_n_frames or 1,
            decode=known.source.decode,
            detector=known.source.detector,
            allow=rules.site.allow,
            deny=rules.site.deny,
            kinds=rules.site.kinds,
            installation=rules.installation,
            zones=known.source.zones,
            thresholds=known.source.thresholds,
            tls_fingerprint=known.source.tls_fingerprint,
            tls_ca=rules.tls_ca,
        )

    async def reread(self, camera_id: CameraId) -> bool:
        """Asks for a source that may have changed; returns whether that was answered for good.

        "Not yours" is no such answer: a lease may have lapsed for a moment, and what was lost is forgotten soon.
        """
        if camera_id not in self._cameras:
            return True
        told = await hedged(partial(self._control.get, f"/v1/cameras/{camera_id}/source", CameraSource, within=WITHIN))
        known = self._cameras.get(camera_id)
        if known is None:
            return True
        if isinstance(told, CameraSource):
            if told.site_id in (None, known.site_id):  # of another site it is told with the next grant
                self._note(camera_id, known.tenant_id, known.site_id, source=told)
            return True
        if isinstance(told, Problem) and told.status == HTTPStatus.CONFLICT:  # nobody can open what it logs in with now
            self._note(camera_id, known.tenant_id, known.site_id, source=None)
        return isinstance(told, Problem) and told.status not in NOT_NOW | {HTTPStatus.NOT_FOUND}

    async def reread_site(self, site_id: SiteId) -> None:
        """Asks for what a site allows; cameras of a site whose rules have changed are dialed anew."""
        told = await hedged(partial(self._control.get, f"/v1/sites/{site_id}", SiteDetails, within=WITHIN))
        if not isinstance(told, SiteDetails):
            return
        rules = _SiteRules(site=told.sources, installation=told.limits, tls_ca=told.tls_ca or None)
        is_new, is_same = site_id not in self._rules, self._rules.get(site_id) == rules
        if is_same:
            return
        self._rules[site_id] = rules
        for camera_id, known in self._cameras.items():
            if known.site_id == site_id and not is_new:
                self._cameras[camera_id] = _changed(known)

    def _note(self, camera_id: CameraId, tenant_id: TenantId, site_id: SiteId, *, source: CameraSource | None) -> None:
        """A change that made no difference to what is dialed is none here."""
        before = self._cameras.get(camera_id)
        told = Known(
            tenant_id=tenant_id,
            site_id=site_id,
            source=None if source is None else msgspec.structs.replace(source, revision=None),
            revision=before.revision if before else 1,
        )
        self.read[camera_id] = None if source is None else source.revision
        if before is not None and before != told:
            told = _changed(told)
        self._cameras[camera_id] = told


def _changed(known: Known) -> Known:
    return replace(known, revision=known.revision + 1)
