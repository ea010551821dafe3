"""Why a camera is not running, as people and programs read it."""

from datetime import datetime

from streamward.leases.why import ReasonCode
from streamward.protocol.fields import Message


class WhyReason(Message, frozen=True):
    """One reason: `code` for programs, `detail` for people."""

    code: ReasonCode
    detail: str


class CameraWhy(Message, frozen=True):
    """Control plane: whether the camera runs, and every reason why not (or the one why it does)."""

    camera_uuid: str
    running: bool
    reasons: list[WhyReason]
    owner_id: str | None
    version: int | None
    expires_at: datetime | None
