"""Cameras as a control plane grants them to a runner."""

from datetime import timedelta

from streamward.model.ids import CameraId, SiteId
from streamward.model.secret import Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.leases import AcquiredCamera, CameraSource
from tests.support.builders import START

ONE, SITE = CameraId("cam-1"), SiteId("site-1")


def a_source(path: str = "live") -> CameraSource:
    password = ClearText(Secret("hunter2"))
    return CameraSource(
        rtsp_url=f"rtsp://10.0.0.7/{path}",
        username=ClearText(Secret("ada")),
        password=password,
        credential_version=2,
        detector="colour",
        max_fps=3.0,
    )


def granted(source: CameraSource | None) -> AcquiredCamera:
    return AcquiredCamera(
        camera_uuid=ONE,
        tenant_id="acme",
        site_id=SITE,
        version=3,
        ttl_ms=8000,
        expires_at=START + timedelta(seconds=8),
        source=source,
    )
