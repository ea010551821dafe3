"""Cameras on the wire, in S0's spelling (S0-066, S0-067)."""

from datetime import datetime
from typing import Annotated

import msgspec

from streamward.model.camera import Camera
from streamward.protocol.fields import Id, Message

LARGEST_PAGE = 1000


class CameraQuery(Message, frozen=True):
    """Which cameras to list; answered by CameraPage."""

    enabled: bool | None = None
    tenant_id: Id | None = None
    site_id: Id | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=LARGEST_PAGE)] = 100
    cursor: (
        Annotated[str, msgspec.Meta(description="`next_cursor` of the page before, with the same filters")] | None
    ) = None


class CameraRow(Message, frozen=True):
    """One camera; user and password in its URL are blacked out."""

    camera_uuid: str
    tenant_id: str
    site_id: str
    rtsp_url: str
    enabled: bool
    updated_at: datetime


class CameraPage(Message, frozen=True):
    """Control plane: cameras in the order of their ids; `next_cursor` is null on the last page."""

    items: list[CameraRow]
    next_cursor: str | None


def row(camera: Camera) -> CameraRow:
    """A camera as anyone may see it."""
    return CameraRow(
        camera_uuid=camera.camera_id,
        tenant_id=camera.tenant_id,
        site_id=camera.site_id,
        rtsp_url=camera.shown_url,
        enabled=camera.enabled,
        updated_at=camera.updated_at,
    )
