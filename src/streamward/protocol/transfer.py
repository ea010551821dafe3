"""Cameras in bulk: one line for each, and what became of it."""

from enum import StrEnum
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from streamward.model.camera import Camera
from streamward.model.secret import Secret
from streamward.model.video import DecodeMode
from streamward.protocol import seeing
from streamward.protocol.cameras import ChangeCamera, CreateCamera, Labels, MaxFps
from streamward.protocol.fields import ClearText, Fingerprint, Id, Message
from streamward.protocol.seeing import EveryN, Thresholds, ZoneShapes

CSV = "text/csv"
JSON_LINES = "application/x-ndjson"
FORMATS: dict[Literal["csv", "jsonl"], str] = {"csv": CSV, "jsonl": JSON_LINES}


class CameraLine(Message, frozen=True):
    """Operator, one line of an import: a camera that there is gets what is named, any other is created.

    A camera is found by its `camera_uuid`, or without one by its `name` in the tenant of the caller or of `site_id`.
    It means what CreateCamera and ChangeCamera mean. A line of an export is the same, with neither user nor password.
    """

    camera_uuid: Id | UnsetType | None = UNSET
    name: Id | UnsetType | None = UNSET
    site_id: Id | UnsetType = UNSET
    rtsp_url: ClearText | UnsetType = UNSET
    username: ClearText | UnsetType | None = UNSET
    password: ClearText | UnsetType | None = UNSET
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


class ImportQuery(Message, frozen=True):
    """Operator imports cameras; answered by CamerasImported."""

    dry_run: bool = False


class ExportQuery(Message, frozen=True):
    """Which cameras to export, and how; answered by a line for each in the order of their ids."""

    format: Literal["csv", "jsonl"] = "csv"
    tenant_id: Id | None = None
    site_id: Id | None = None


class ImportOutcome(StrEnum):
    """What became of a line."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


class ImportedLine(Message, frozen=True):
    """What became of a line; without an id if a dry run would have to make one up."""

    line: int
    camera_uuid: str | None
    outcome: ImportOutcome


class CamerasImported(Message, frozen=True):
    """Control plane: every line was done, or would be if this were no dry run."""

    dry_run: bool
    created: int
    updated: int
    unchanged: int
    lines: list[ImportedLine]


def creation(line: CameraLine) -> CreateCamera | None:
    """A line as the creation of a camera; None: it does not say enough."""
    given = {name: value for name, value in _given(line).items() if value is not None}
    return CreateCamera(**given) if {"site_id", "rtsp_url"} <= set(given) else None


def change(line: CameraLine, camera: Camera) -> ChangeCamera:
    """A line as a change of the camera that it names; a URL as it is shown, given back, is no change."""
    given = _given(line)
    for name in ("camera_uuid", "username", "password"):
        if given.get(name) is None or name == "camera_uuid":
            given.pop(name, None)
    is_as_shown = given.get("rtsp_url") == ClearText(Secret(camera.shown_url))
    if is_as_shown and not {"username", "password"} & set(given) and line.site_id in (UNSET, camera.site_id):
        del given["rtsp_url"]
    return ChangeCamera(**given)


def exported(camera: Camera) -> CameraLine:
    """A camera as a line, with its URL as anyone may see it."""
    return CameraLine(
        camera_uuid=camera.camera_id,
        name=camera.name,
        site_id=camera.site_id,
        rtsp_url=ClearText(Secret(camera.shown_url)),
        tls_fingerprint=camera.tls_fingerprint,
        enabled=camera.enabled,
        do_not_process=camera.do_not_process,
        detector=camera.detector,
        max_fps=camera.max_fps,
        decode=camera.decode,
        detect_every_n_frames=camera.detect_every_n_frames,
        zones=seeing.shapes(camera.zones),
        thresholds=dict(camera.thresholds),
        labels=dict(camera.labels),
    )


def _given(line: CameraLine) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(line).items() if value is not UNSET}
