"""A fleet as people see it: who shows which camera, and what changed hands, as lines that fit a screen.

A gap is the time between the last report of the old owner that the camera streams and the first such of the new one
that we came to see. Reports come each second or so, and we look each second: the true gap is at most that long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from streamward.cli.fleet import By
from streamward.cli.output import cell, cut, table
from streamward.protocol.lease_listing import LeaseRow, StreamSeen, streams

NOBODY = "nobody"
_HEADINGS = ("CAMERA", "STATE", "FPS", "FRAME", "GENERATION", "WHERE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A camera streams at another owner, or under another generation of the same."""

    camera: str
    before: str
    after: str
    generation: int
    at: datetime
    gap: float  # seconds at most

    def __str__(self) -> str:
        when = self.at.astimezone().strftime("%H:%M:%S")
        moved = f"{cell(self.before)} → {cell(self.after)}"
        return f"{when}  {cell(self.camera)}  {moved}, generation {self.generation}, gap ≤ {self.gap:.1f} s"


class Ownership:
    """Remembers who showed which camera last."""

    def __init__(self) -> None:
        self._last: dict[str, StreamSeen] = {}

    def observe(self, rows: Sequence[LeaseRow]) -> Iterator[Change]:
        """What has changed hands since the last look."""
        for row in rows:
            now, last = row.stream, self._last.get(row.camera_uuid)
            if now is None or not streams(row):
                continue
            self._last[row.camera_uuid] = now
            if last is not None and last.version != now.version:
                yield Change(
                    camera=row.camera_uuid,
                    before=last.runner_id,
                    after=now.runner_id,
                    generation=row.version,
                    at=now.ts,
                    gap=max(0.0, (now.ts - last.ts).total_seconds()),
                )


def listing(rows: Sequence[LeaseRow], *, by: By, now: datetime, width: int | None) -> list[str]:
    """The cameras in groups, below one row of headings."""
    groups: dict[str, list[LeaseRow]] = {}
    for row in rows:
        groups.setdefault(_group(row, by), []).append(row)
    ordered = [each for name in sorted(groups) for each in groups[name]]
    headings, *lines = table(_HEADINGS, [_cells(row, by, now) for row in ordered], width=width).splitlines()
    shown = [headings]
    for name in sorted(groups):
        well = sum(map(streams, groups[name]))
        shown.append(f"{cell(name)}: {well} of {len(groups[name])} stream")
        shown += [lines.pop(0) for _ in groups[name]]
    return shown


def screen(head: str, body: Sequence[str], changes: Sequence[Change], *, size: tuple[int, int]) -> list[str]:
    """As many lines as a screen of that width and height has: the newest changes below, the rest cut with a word."""
    width, height = size
    below = [str(each) for each in changes[-max(1, height // 4) :]] or ["nothing changed hands yet"]
    room = max(3, height - len(below) - 2)
    shown = list(body)
    if len(shown) > room:
        shown = [*shown[: room - 1], f"… {len(body) - room + 1} more lines: a higher window, or --once, shows them"]
    return [cut(line, width) for line in (head, *shown, "", *below)][:height]


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
