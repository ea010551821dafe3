"""Cameras on the wire, in S0's spelling (S0-066, S0-067)."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.camera import Camera
from streamward.model.source_url import SourceKind
from streamward.model.video import DecodeMode
from streamward.protocol import seeing
from streamward.protocol.fields import ClearText, Cursor, Fingerprint, Id, Limit, Message
from streamward.protocol.seeing import EveryN, Thresholds, ZoneShape, ZoneShapes

MOST_LABELS = 32

LabelName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_.-]{1,64}$(?!\n)")]
LabelValue = Annotated[str, msgspec.Meta(pattern=r"^[^\x00-\x1f\x7f]{0,256}$(?!\n)")]
Labels = Annotated[dict[LabelName, LabelValue], msgspec.Meta(max_length=MOST_LABELS)]
MaxFps = Annotated[float, msgspec.Meta(gt=0, le=240)]


class CameraQuery(Message, frozen=True):
    """Which cameras to list; answered by CameraPage."""

    enabled: bool | None = None
    tenant_id: Id | None = None
    site_id: Id | None = None
    name: Id | None = None
    limit: Limit = 100
    cursor: Cursor | None = None


class CameraRow(Message, frozen=True, kw_only=True):
    """One camera; user and password in its URL are blacked out. One without a name has no such field."""

    camera_uuid: str
    tenant_id: str
    site_id: str
    name: str | UnsetType = UNSET
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
    of their own. `name` is how the camera's tenant calls it, and unique in that tenant. A `camera_uuid` is one for the
    whole installation: a caller of one tenant leaves it out, any other may; then it is generated. Without zones things
    count everywhere, without thresholds what the detector itself holds for sure enough. With a `tls_fingerprint` an
    rtsps camera is accepted by its certificate alone, whoever issued it; if its site has a `tls_ca`, by both.
    """

    site_id: Id
    rtsp_url: ClearText
    camera_uuid: Id | None = None
    name: Id | None = None
    username: ClearText | None = None
    password: ClearText | None = None
    tls_fingerprint: Fingerprint | None = None
    enabled: bool = True
    do_not_process: bool = False
    detector: Id | None = None
    max_fps: MaxFps | None = None
    decode: DecodeMode | None = None
    detect_every_n_frames: EveryN | None = None
    zones: ZoneShapes = msgspec.field(default_factory=list)
    thresholds: Thresholds = msgspec.field(default_factory=dict)
    labels: Labels = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        seeing.check(self.zones, self.thresholds)


class ChangeCamera(Message, frozen=True):
    """Operator changes a camera, and leaves alone what is not named; answered by CameraDetails.

    A URL replaces user and password too, and one without them takes them away. `***@` in it keeps them, for the same
    scheme, host and port only: a password must not be sent where its giver did not mean it to go. Zones, thresholds
    and labels replace all that were there.
    """

    site_id: Id | UnsetType = UNSET
    name: Id | UnsetType | None = UNSET
    rtsp_url: ClearText | UnsetType = UNSET
    username: ClearText | UnsetType = UNSET
    password: ClearText | UnsetType = UNSET
    tls_fingerprint: Fingerprint | UnsetType | None = UNSET
    enabled: bool | UnsetType = UNSET
    do_not_process: bool | UnsetType = UNSET
    detector: Id | UnsetType | None = UNSET
    max_fps: MaxFps | UnsetType | None = UNSET
    decode: DecodeMode | UnsetType | None = UNSET
    detect_every_n_frames: EveryN | UnsetType | None = UNSET
    zones: ZoneShapes | UnsetType = UNSET
    thresholds: Thresholds | UnsetType = UNSET
    labels: Labels | UnsetType = UNSET

    def __post_init__(self) -> None:
        seeing.check(self.zones, self.thresholds)


class CameraDetails(CameraRow, frozen=True, kw_only=True):
    """Control plane: a camera as operators see it; `***@` in its URL stands for a user and password."""

    tls_fingerprint: str | None
    source_kind: SourceKind | None  # none: from before sources were checked
    do_not_process: bool
    detector: str | None
    max_fps: float | None
    decode: DecodeMode | None
    detect_every_n_frames: int | None
    zones: list[ZoneShape]
    thresholds: dict[str, float]
    labels: dict[str, str]
    credential_version: int


class CameraRemoved(Message, frozen=True):
    """Control plane: the camera is gone; its runner is told when it renews."""

    camera_uuid: str


def row(camera: Camera) -> CameraRow:
    """A camera as anyone may see it."""
    return CameraRow(**_row(camera))


def details(camera: Camera) -> CameraDetails:
    """A camera as people see it."""
    return CameraDetails(
        **_row(camera),
        tls_fingerprint=camera.tls_fingerprint,
        source_kind=camera.source_kind,
        do_not_process=camera.do_not_process,
        detector=camera.detector,
        max_fps=camera.max_fps,
        decode=camera.decode,
        detect_every_n_frames=camera.detect_every_n_frames,
        zones=seeing.shapes(camera.zones),
        thresholds=dict(camera.thresholds),
        labels=dict(camera.labels),
        credential_version=camera.credential_version,
    )


def _row(camera: Camera) -> dict[str, Any]:
    return {
        "camera_uuid": camera.camera_id,
        "tenant_id": camera.tenant_id,
        "site_id": camera.site_id,
        "name": UNSET if camera.name is None else camera.name,
        "rtsp_url": camera.shown_url,
        "enabled": camera.enabled,
        "updated_at": camera.updated_at,
    }
