"""Figures of a drill: how they are spread, what they are held against, and how they are shown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """How a figure is spread, in seconds."""

    count: int
    p50: float
    p95: float
    p99: float
    longest: float


@dataclass(frozen=True, slots=True)
class Objective:
    """A figure against its goal."""

    name: str
    measured: str
    goal: str
    is_met: bool


def spread(values: Sequence[float]) -> Spread:
    """Percentiles; of nothing they are nothing."""
    ordered = sorted(values) or [0.0]
    at = [ordered[min(len(ordered) - 1, int(len(ordered) * share))] for share in (0.5, 0.95, 0.99)]
    return Spread(len(values), *(round(each, 4) for each in (*at, ordered[-1])))


def within(measured: float, goal: float) -> tuple[str, str, bool]:
    """A figure, its goal, and whether it is met."""
    return seconds(measured), f"≤ {seconds(goal)}", measured <= goal


def seconds(value: float | None) -> str:
    """For people."""
    if value is None:
        return "never"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


def objectives(judged: Iterable[Objective]) -> str:
    """All of them as a table."""
    rows: list[Row] = [("objective", "measured", "goal", "")]
    rows += [(each.name, each.measured, each.goal, "" if each.is_met else "MISSED") for each in judged]
    return columns(rows)


def facts(named: Iterable[tuple[str, str]]) -> str:
    """One to a line, behind its name."""
    return "\n".join(f"{name:<22}{value}" for name, value in named)


def columns(rows: list[Row]) -> str:
    """A table."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    padded = ("  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(each.rstrip() for each in padded)
