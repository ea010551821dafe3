"""What is told of a camera's change."""

import json
from datetime import UTC, datetime

from streamward.model.announcement import of_camera
from streamward.model.ids import CameraId, SiteId, TenantId
from tests.support.builders import a_camera


def test_a_change_is_told_without_the_cameras_url():
    camera = a_camera(CameraId("cam-2"), site=SiteId("site-A"), tenant=TenantId("t-01"))
    told = of_camera(camera, "created", event_id="e1", at=datetime(2026, 1, 1, tzinfo=UTC))
    assert (told.exchange, told.routing_key) == ("control.topic", "camera.created.t-01.site-A.cam-2")
    assert json.loads(told.body)["camera_uuid"] == "cam-2"
    assert camera.rtsp_url.startswith("rtsp://")
    assert "rtsp" not in told.body
