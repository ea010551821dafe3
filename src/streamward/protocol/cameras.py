"""Cameras on the wire, in S0's spelling (S0-066, S0-067)."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.camera import Camera
from streamward.protocol.fields import ClearText, Id, Message

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


class CreateCamera(Message, frozen=True):
    """Operator adds a camera to a site; answered by CameraDetails.

    User and password stand in the URL, with `@ : / # ? %` and spaces in them written as %XX, or as they are in fields
    of their own. Without a `camera_uuid` it gets one.
    """

    site_id: Id
    rtsp_url: ClearText
    camera_uuid: Id | None = None
    username: ClearText | None = None
    password: ClearText | None = None
    enabled: bool = True
    do_not_process: bool = False


class ChangeCamera(Message, frozen=True):
    """Operator changes a camera, and leaves alone what is not named; answered by CameraDetails.

    A URL replaces user and password too, and one without them takes them away. `***@` in it keeps them, for the same
    scheme, host and port only: a password must not be sent where its giver did not mean it to go.
    """

    site_id: Id | UnsetType = UNSET
    rtsp_url: ClearText | UnsetType = UNSET
    username: ClearText | UnsetType = UNSET
    password: ClearText | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    do_not_process: bool | UnsetType = UNSET


class CameraDetails(CameraRow, frozen=True):
    """Control plane: a camera as operators see it; `***@` in its URL stands for a user and password."""

    do_not_process: bool
    credential_version: int


class CameraRemoved(Message, frozen=True):
    """Control plane: the camera is gone; its runner is told when it renews."""

    camera_uuid: str


def details(camera: Camera) -> CameraDetails:
    """A camera as operators see it."""
    return CameraDetails(
        camera_uuid=camera.camera_id,
        tenant_id=camera.tenant_id,
        site_id=camera.site_id,
        rtsp_url=camera.shown_url,
        enabled=camera.enabled,
        updated_at=camera.updated_at,
        do_not_process=camera.do_not_process,
        credential_version=camera.credential_version,
    )


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
