"""Clear credentials, to whoever holds the lease or is its heir, and to nobody else: callers have seen to that."""

from streamward.leases import facts
from streamward.model.camera import Camera
from streamward.model.vault import CredentialUnreadable, CredentialVault
from streamward.protocol import seeing
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import CameraSource
from streamward.runtime.journal import Journal


class SourceCourier:
    """Opens what the store keeps sealed."""

    def __init__(self, vault: CredentialVault, journal: Journal) -> None:
        self._vault = vault
        self._journal = journal

    def source(self, camera: Camera) -> CameraSource | None:
        """A camera's source in clear; None: its credential cannot be opened, which is noted."""
        try:
            user, password = self._login(camera)
        except CredentialUnreadable as err:
            self._journal.record(facts.CredentialLocked(camera_id=camera.camera_id, key_id=err.key_id))
            return None
        return CameraSource(
            rtsp_url=camera.rtsp_url,
            username=user,
            password=password,
            credential_version=camera.credential_version,
            detector=camera.detector,
            max_fps=camera.max_fps,
            decode=camera.decode,
            detect_every_n_frames=camera.detect_every_n_frames,
            zones=seeing.shapes(camera.zones),
            thresholds=dict(camera.thresholds),
            tls_fingerprint=camera.tls_fingerprint,
            site_id=camera.site_id,
            revision=camera.revision,
        )

    def _login(self, camera: Camera) -> tuple[ClearText | None, ClearText | None]:
        if camera.sealed is None:
            return None, None
        opened = self._vault.open(camera.sealed, tenant_id=camera.tenant_id, camera_id=camera.camera_id)
        return ClearText(opened.user), ClearText(opened.password)
