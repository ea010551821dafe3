"""Credentials at rest: what a store keeps is sealed, and only whoever has the master key can open it."""

from typing import NewType, Protocol

from streamward.model.errors import StreamwardError
from streamward.model.ids import CameraId, TenantId
from streamward.model.source_url import Credential

Sealed = NewType("Sealed", str)


class CredentialUnreadable(StreamwardError):
    """A sealed credential that no key opens: its key is missing, or it was made for another camera or tenant."""

    def __init__(self, camera_id: CameraId, key_id: str) -> None:
        super().__init__(camera_id, key_id)
        self.camera_id = camera_id
        self.key_id = key_id

    def __str__(self) -> str:
        return f"the credential of camera {self.camera_id}, sealed with key {self.key_id}, cannot be opened"


class CredentialVault(Protocol):
    """Seals and opens. A seal is bound to its tenant and camera: copied to another row, it does not open."""

    def seal(self, credential: Credential, *, tenant_id: TenantId, camera_id: CameraId) -> Sealed: ...
    def open(self, sealed: Sealed, *, tenant_id: TenantId, camera_id: CameraId) -> Credential: ...
    def is_newest(self, sealed: Sealed) -> bool:
        """Whether it was sealed with the key that seals now."""
        ...
