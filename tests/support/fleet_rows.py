"""Leases as people see them."""

from typing import Any

from streamward.leases.lease import SessionState
from streamward.model.status import StreamState
from streamward.protocol.lease_listing import LeaseRow, StreamSeen
from tests.support.builders import at


def a_row(camera: str = "cam-1", *, owner: str | None = "runner-a", version: int = 1, stream: Any = None) -> LeaseRow:
    return LeaseRow(
        camera_uuid=camera,
        tenant_id="demo",
        site_id="yard",
        state=SessionState.ACTIVE if owner else SessionState.PENDING,
        owner_id=owner,
        incarnation="inc-1" if owner else None,
        version=version,
        granted_at=at(0),
        expires_at=at(8),
        ttl_ms=8000,
        stream=stream,
    )


def a_stream(seconds: float = 0, *, runner: str = "runner-a", version: int = 1, **changes: Any) -> StreamSeen:
    told = {"state": StreamState.STREAMING, "substate": None, "error_code": None, "fps": 6.0, **changes}
    return StreamSeen(runner_id=runner, version=version, ts=at(seconds), last_frame_ts=at(seconds), **told)


def streaming(seconds: float, *, camera: str = "cam-1", runner: str = "runner-a", version: int = 1) -> LeaseRow:
    return a_row(camera, owner=runner, version=version, stream=a_stream(seconds, runner=runner, version=version))
