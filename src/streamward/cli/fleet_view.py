"""A fleet as people see it: who shows which camera, and what changed hands, as lines that fit a screen."""

import re
from collections.abc import Sequence
from datetime import datetime

from streamward.cli.fleet import By
from streamward.cli.output import cell, cut, table
from streamward.protocol.lease_listing import LeaseRow, StreamSeen, streams
from streamward.protocol.ownership import Change

NOBODY = "nobody"
_HEADINGS = ("CAMERA", "STATE", "FPS", "FRAME", "GENERATION", "WHERE")


def told(change: Change) -> str:
    """A change of hands as a line."""
    when = change.at.astimezone().strftime("%H:%M:%S")
    moved = f"{cell(change.before)} → {cell(change.after)}"
    return f"{when}  {cell(change.camera)}  {moved}, generation {change.generation}, gap ≤ {change.gap:.1f} s"


def listing(rows: Sequence[LeaseRow], *, by: By, now: datetime, width: int | None) -> list[str]:
    """The cameras in groups, below one row of headings."""
    groups: dict[str, list[LeaseRow]] = {}
    for row in rows:
        groups.setdefault(_group(row, by), []).append(row)
    for group in groups.values():
        group.sort(key=lambda row: _natural(row.camera_uuid))
    ordered = [each for name in sorted(groups, key=_natural) for each in groups[name]]
    headings, *lines = table(_HEADINGS, [_cells(row, by, now) for row in ordered], width=width).splitlines()
    shown = [headings]
    for name in sorted(groups, key=_natural):
        well = sum(map(streams, groups[name]))
        shown.append(f"{cell(name)}: {well} of {len(groups[name])} stream")
        shown += [lines.pop(0) for _ in groups[name]]
    return shown


def screen(head: str, body: Sequence[str], changes: Sequence[Change], *, size: tuple[int, int]) -> list[str]:
    """As many lines as a screen of that width and height has: the newest changes below, the rest cut with a word."""
    width, height = size
    below = [told(each) for each in changes[-max(1, height // 4) :]] or ["nothing changed hands yet"]
    room = max(3, height - len(below) - 2)
    shown = list(body)
    if len(shown) > room:
        shown = [*shown[: room - 1], f"… {len(body) - room + 1} more lines: a higher window, or --once, shows them"]
    return [cut(line, width) for line in (head, *shown, "", *below)][:height]


def _natural(name: str) -> list[tuple[int, str]]:
    """For sorting as people count: cam-2 before cam-10."""
    return [(int(number or -1), text) for text, number in re.findall(r"(\D+)|(\d+)", name)]


def _group(row: LeaseRow, by: By) -> str:
    return row.site_id if by is By.SITE else row.owner_id or NOBODY


def _cells(row: LeaseRow, by: By, now: datetime) -> tuple[object, ...]:
    seen = row.stream if row.stream is not None and row.stream.version == row.version and row.owner_id else None
    age = None if seen is None or seen.last_frame_ts is None else (now - seen.last_frame_ts).total_seconds()
    return (
        row.camera_uuid,
        _state(row, seen),
        None if seen is None or seen.fps is None else f"{seen.fps:.1f}",
        None if age is None else f"{max(0.0, age):.1f} s ago",
        row.version,
        row.site_id if by is By.RUNNER else row.owner_id,
    )


def _state(row: LeaseRow, seen: StreamSeen | None) -> str:
    if row.owner_id is None:
        return "FREE"
    if seen is None:
        return "TAKEN"  # and nothing was heard of it yet
    return " ".join(str(word) for word in (seen.substate or seen.state, seen.error_code) if word is not None)
