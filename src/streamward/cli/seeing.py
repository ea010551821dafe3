"""Where in a camera's picture things count, how sure to be of them and how often to look: as options, and in words."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from streamward.model.detection import OTHERS

Zones = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Where things count: a JSON file of all its zones; - is standard input; none: everywhere."
    ),
]
Threshold = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL=NUMBER",
        help="How sure to be of a label, 0 to 1, * for all others; repeat; replaces all; none: as the detector is.",
    ),
]
DetectEvery = Annotated[
    int | None, typer.Option(metavar="N", min=0, max=1000, help="Look at one of N pictures only; 0: at each.")
]


def seeing(zones: str | None, threshold: list[str] | None, detect_every: int | None) -> dict[str, Any]:
    """What was named of it; `none` and 0 take away what was there."""
    named: dict[str, Any] = {}
    if zones is not None:
        named["zones"] = [] if zones == "none" else _zones(zones)
    if threshold:
        named["thresholds"] = {} if threshold == ["none"] else _thresholds(threshold)
    if detect_every is not None:
        named["detect_every_n_frames"] = detect_every or None
    return named


def check_one_reader(zones: str | None, password_file: Path | None) -> None:
    """Refuses two things from one standard input."""
    if zones == "-" and str(password_file) == "-":
        raise typer.BadParameter("zones and the password cannot both come from standard input", param_hint="--zones")


def in_words(camera: Any) -> list[tuple[str, object]]:
    """As facts of a camera."""
    every_n = camera.detect_every_n_frames or 1
    thresholds = sorted(camera.thresholds.items(), key=lambda each: (each[0] == OTHERS, each[0]))
    told = [f"{'all others' if label == OTHERS else label} {number:g}" for label, number in thresholds]
    return [
        ("looked at", "each picture" if every_n == 1 else f"one of {every_n} pictures"),
        ("zones", [_told(zone) for zone in camera.zones] or "everywhere"),
        ("thresholds", told or "as the detector has them"),
    ]


def _told(zone: Any) -> str:
    stay = "" if zone.dwell_s is None else f", a stay told after {zone.dwell_s:g} s"
    return f"{zone.name} ({len(zone.points)} points{', leaves out' if zone.leaves_out else ''}{stay})"


def _zones(file: str) -> list[Any]:
    from streamward.protocol import seeing
    from streamward.protocol.codec import MalformedMessage, decode

    try:
        zones = decode(_content(file), seeing.ZoneShapes)
        seeing.check(zones)
    except (MalformedMessage, ValueError) as err:
        raise typer.BadParameter(f"{_source(file)}: {err}", param_hint="--zones") from None
    return zones


def _content(file: str) -> bytes:
    from streamward.protocol.codec import MAX_BODY

    try:
        if file == "-":
            content = sys.stdin.buffer.read(MAX_BODY + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(MAX_BODY + 1)
    except OSError as err:
        why = (err.strerror or "unknown").lower()
        raise typer.BadParameter(f"{file} cannot be read ({why})", param_hint="--zones") from None
    if len(content) > MAX_BODY:
        raise typer.BadParameter(f"{_source(file)} is too large for a camera's zones", param_hint="--zones")
    return content


def _source(file: str) -> str:
    return "standard input" if file == "-" else file


def _thresholds(given: list[str]) -> dict[str, float]:
    from msgspec import UNSET

    from streamward.protocol import seeing

    thresholds: dict[str, float] = {}
    for each in given:
        label, equals, number = each.rpartition("=")
        if not equals or label in thresholds:
            raise typer.BadParameter("a threshold is LABEL=NUMBER, each label once", param_hint="--threshold")
        try:
            thresholds[label] = float(number)
        except ValueError:
            raise typer.BadParameter(f"{number!r} is no number", param_hint="--threshold") from None
    try:
        seeing.check(UNSET, thresholds)
    except ValueError as err:
        raise typer.BadParameter(str(err), param_hint="--threshold") from None
    return thresholds
