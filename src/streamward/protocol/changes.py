"""Changes of cameras, for those who poll (S0-024)."""

import json
from datetime import datetime
from typing import Annotated, Literal

import msgspec

from streamward.protocol.codec import convert
from streamward.protocol.fields import Limit, Message
from streamward.protocol.wait import LONGEST_WAIT


class ChangesQuery(Message, frozen=True):
    """Anyone asks what became of cameras after a cursor, or waits for it; without one, from now on.

    Answered by CameraChanges. Who needs to know every camera takes a cursor first, then lists, then asks from there.
    """

    after: Annotated[str, msgspec.Meta(description="`cursor` of the answer before")] | None = None
    timeout_s: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)] = 20.0
    limit: Limit = 100


class CameraChange(Message, frozen=True):
    """Control plane: one change of a camera, as it is published too: which it is and whether it is wanted, no URL."""

    event_id: str
    type: Literal["camera.created", "camera.updated", "camera.deleted"]
    ts: datetime
    tenant_id: str
    site_id: str
    camera_uuid: str
    enabled: bool
    do_not_process: bool
    credential_version: int
    revision: int


class CameraChanges(Message, frozen=True):
    """Control plane: changes in their order, none if the time was over first, and the cursor for the next call."""

    items: list[CameraChange]
    cursor: str


def read_change(body: str) -> CameraChange:
    """A change as it was announced, perhaps by a newer version, which may tell more."""
    told = json.loads(body)
    return convert({name: told[name] for name in CameraChange.__struct_fields__}, CameraChange)
