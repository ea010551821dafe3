"""A fleet as lines: groups, what fits, and who took over from whom."""

from typing import Any

from streamward.cli.fleet import By
from streamward.cli.fleet_view import Ownership, listing, screen
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


def streaming(seconds: float, *, runner: str = "runner-a", version: int = 1) -> LeaseRow:
    return a_row(owner=runner, version=version, stream=a_stream(seconds, runner=runner, version=version))


def test_cameras_are_grouped_by_runner_with_how_many_stream():
    failing = a_stream(state=StreamState.CONNECTING, error_code="TCP_REFUSED", fps=None)
    rows = [
        a_row("cam-1", stream=a_stream()),
        a_row("cam-2", stream=failing),
        a_row("cam-3", owner=None),
        a_row("cam-4", version=2, stream=a_stream()),
    ]
    assert listing(rows, by=By.RUNNER, now=at(1.5), width=None) == [
        "CAMERA  STATE                   FPS  FRAME      GENERATION  WHERE",
        "nobody: 0 of 1 stream",
        "cam-3   FREE                    –    –          1           yard",
        "runner-a: 1 of 3 stream",
        "cam-1   STREAMING               6.0  1.5 s ago  1           yard",
        "cam-2   CONNECTING TCP_REFUSED  –    1.5 s ago  1           yard",
        "cam-4   TAKEN                   –    –          2           yard",
    ]


def test_cameras_are_grouped_by_site_with_their_owners():
    shown = listing([a_row(stream=a_stream())], by=By.SITE, now=at(0), width=80)
    assert shown[1:] == [
        "yard: 1 of 1 stream",
        "cam-1   STREAMING  6.0  0.0 s ago  1           runner-a",
    ]


def test_a_takeover_is_told_with_its_gap_when_the_new_owner_streams():
    ownership = Ownership()
    assert not list(ownership.observe([streaming(1)]))
    assert not list(ownership.observe([streaming(2)]))
    assert not list(ownership.observe([a_row(owner="runner-b", version=2, stream=a_stream(2))]))
    (change,) = ownership.observe([streaming(4.5, runner="runner-b", version=2)])
    assert (change.before, change.after, change.generation, change.gap) == ("runner-a", "runner-b", 2, 2.5)
    assert str(change).endswith("cam-1  runner-a → runner-b, generation 2, gap ≤ 2.5 s")
    assert not list(ownership.observe([streaming(5.5, runner="runner-b", version=2)]))


def test_what_does_not_fit_a_screen_is_cut_with_a_word():
    ownership = Ownership()
    changes = [
        change for version in range(1, 20) for change in ownership.observe([streaming(version, version=version)])
    ]
    lines = screen("head", [f"line {place} {'x' * 100}" for place in range(100)], changes, size=(80, 24))
    assert len(lines) == 24
    assert max(map(len, lines)) <= 80
    assert lines[16].startswith("… 85 more lines")
    assert lines[-1] == str(changes[-1])


def test_a_small_fleet_is_shown_whole():
    assert screen("head", ["a", "b"], [], size=(80, 24)) == ["head", "a", "b", "", "nothing changed hands yet"]
