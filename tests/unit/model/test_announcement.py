"""What the outside is told of a camera."""

import json
from dataclasses import replace

from streamward.model.announcement import of_camera
from streamward.model.vault import Sealed
from tests.support.builders import START, a_camera


def test_a_change_names_the_camera_and_never_where_it_is():
    camera = replace(a_camera(), sealed=Sealed("v1.k.s"), credential_version=3, revision=2)
    told = of_camera(camera, "updated", event_id="e-1", at=START)
    assert (told.exchange, told.routing_key) == ("control.topic", "camera.updated.tenant-1.site-1.cam-1")
    assert json.loads(told.body) == {
        "event_id": "e-1",
        "type": "camera.updated",
        "ts": "2026-01-01T00:00:00Z",
        "tenant_id": "tenant-1",
        "site_id": "site-1",
        "camera_uuid": "cam-1",
        "enabled": True,
        "do_not_process": False,
        "credential_version": 3,
        "revision": 2,
    }
    assert (told.message.message_id, told.message.kind) == ("e-1", "camera.updated")
    assert told.message.headers["cloudEvents_source"] == "/control"
