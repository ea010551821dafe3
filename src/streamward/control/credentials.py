"""Every stored credential in turn: sealed if it still stands in a URL, sealed anew if its key is old.

Both can be cut at any moment and run again, and both run beside control planes that serve: a row that changed meanwhile
was sealed by whoever changed it.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Protocol

from streamward.leases.store import CameraFilter, CameraStore
from streamward.model.camera import Camera
from streamward.model.errors import StreamwardError
from streamward.model.identity import SYSTEM
from streamward.model.ids import CameraId
from streamward.model.register import Edit, Edited, Register
from streamward.model.source_url import SourceUrlRefused, split_userinfo
from streamward.model.vault import CredentialUnreadable, CredentialVault

_PAGE = 500


class OldUrlUnreadable(StreamwardError):
    """A camera from before credentials were sealed has one that cannot be kept."""

    def __init__(self, camera_id: CameraId, why: str) -> None:
        super().__init__(camera_id, why)
        self.camera_id = camera_id
        self.why = why

    def __str__(self) -> str:
        return f"the URL of camera {self.camera_id} cannot be kept ({self.why}): change it in the table `cameras`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resealed:
    """What became of the credentials when keys were changed."""

    sealed: int  # under the newest key now, and not before
    unreadable: tuple[CameraId, ...]  # no key opens them: to be given again


class EditedCameras(CameraStore, Register, Protocol):
    """The ports that read and change cameras."""


async def seal_urls(store: EditedCameras, vault: CredentialVault) -> int:
    """Takes user and password out of every URL that still has them; returns how many."""
    sealed = 0
    async for camera in _cameras(store):
        try:
            url, credential = split_userinfo(camera.rtsp_url)
        except SourceUrlRefused as err:
            raise OldUrlUnreadable(camera.camera_id, str(err)) from err
        if credential is not None:
            seal = vault.seal(credential, tenant_id=camera.tenant_id, camera_id=camera.camera_id)
            version = camera.credential_version + 1
            changed = replace(camera, rtsp_url=url, sealed=seal, credential_version=version)
            outcome = await store.edit([Edit(before=camera, after=changed)], author=SYSTEM)
            sealed += isinstance(outcome, Edited)
    return sealed


async def reseal(store: CameraStore, vault: CredentialVault) -> Resealed:
    """Seals with the newest key whatever is sealed with another."""
    sealed, unreadable = 0, []
    async for camera in _cameras(store):
        if camera.sealed is None or vault.is_newest(camera.sealed):
            continue
        try:
            opened = vault.open(camera.sealed, tenant_id=camera.tenant_id, camera_id=camera.camera_id)
        except CredentialUnreadable:
            unreadable.append(camera.camera_id)
            continue
        seal = vault.seal(opened, tenant_id=camera.tenant_id, camera_id=camera.camera_id)
        sealed += await store.reseal(camera.camera_id, old=camera.sealed, new=seal)
    return Resealed(sealed=sealed, unreadable=tuple(unreadable))


async def _cameras(store: CameraStore) -> AsyncIterator[Camera]:
    after: CameraId | None = None
    while page := await store.page(CameraFilter(scope=None, after=after, limit=_PAGE)):
        for camera in page:
            yield camera
        after = page[-1].camera_id
