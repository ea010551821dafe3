"""Cameras as CSV (RFC 4180, UTF-8, a header first), written and read so that what was written reads the same.

A column that is not there leaves its field alone, and so does an empty cell, but for `tls_fingerprint`, `detector`,
`max_fps`, `decode`, `detect_every_n_frames`, `zones`, `thresholds` and `labels`, which it empties. `labels` is
`name=value;name=value`, with `;` in a value written `%3B` and `%` as `%25`; `zones` and `thresholds` are JSON, as the
API has them.

A spreadsheet takes a cell that begins with `=`, `+`, `-` or `@` for a formula, and an id may begin with `-`: such a
cell is written with an apostrophe before it, which reading takes away again. Nothing else that is written begins with
one, and users and passwords, which are only read, are taken as they are. What is wrong with a header is told without
repeating more of it than a name: in a file without a header the first line may hold a password.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec import UNSET, UnsetType

from streamward.protocol.codec import InvalidMessage, MalformedMessage, convert, decode, encode
from streamward.protocol.fields import ClearText
from streamward.protocol.transfer import CameraLine

SECRETS = ("username", "password")
COLUMNS = CameraLine.__struct_fields__
WRITTEN = tuple(name for name in COLUMNS if name not in SECRETS)
AS_JSON: dict[str, list[Any] | dict[str, Any]] = {"zones": [], "thresholds": {}}  # what an empty cell means

_NO_HEADER = "the first line must name the columns, with commas between: " + ", ".join(COLUMNS)
_FORMULA = tuple("=+-@\t\r'")
_TELLABLE = re.compile(r"[A-Za-z0-9_.: -]{1,40}")
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_ESCAPED = re.compile(r"%(25|3[Bb])")
_TRUTHS = {"true": True, "false": False}

Read = CameraLine | InvalidMessage


def read(text: str) -> Iterator[tuple[int, Read | None]]:
    """Each line after the header with the number at which it begins; None: it is empty."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns = _columns(next(rows, []))
        began = rows.line_num + 1
        for cells in rows:
            yield began, _line(columns, cells) if cells else None
            began = rows.line_num + 1
    except InvalidMessage as err:
        yield 1, err
    except csv.Error as err:
        yield max(1, rows.line_num), InvalidMessage(f"this is not CSV: {err}")


def write(lines: Iterable[CameraLine], *, with_header: bool) -> str:
    """Lines as text."""
    written = io.StringIO(newline="")
    table = csv.writer(written)
    if with_header:
        table.writerow(WRITTEN)
    table.writerows([_cell(name, getattr(line, name)) for name in WRITTEN] for line in lines)
    return written.getvalue()


def _columns(header: list[str]) -> list[str]:
    names = [name.strip() for name in header]
    if not set(names) & set(COLUMNS):
        raise InvalidMessage(_NO_HEADER)
    for place, name in enumerate(names, start=1):
        told = f"`{name}`" if _TELLABLE.fullmatch(name) else f"number {place}"
        if name not in COLUMNS:
            raise InvalidMessage(f"there is no column {told}: columns are {', '.join(COLUMNS)}")
        if names.index(name) < place - 1:
            raise InvalidMessage(f"the column {told} is there twice")
    return names


def _line(columns: list[str], cells: list[str]) -> Read:
    if len(cells) != len(columns):
        return InvalidMessage(f"the line has {len(cells)} cells and the header {len(columns)}")
    try:
        given = {name: _READS[name](name, cell) for name, cell in zip(columns, cells, strict=True)}
        return convert({name: value for name, value in given.items() if value is not UNSET}, CameraLine)
    except InvalidMessage as err:
        return err


def _secret(_name: str, cell: str) -> str | UnsetType:
    return cell or UNSET


def _word(_name: str, cell: str) -> str | UnsetType:
    return _unguarded(cell).strip(" ") or UNSET


def _word_or_none(name: str, cell: str) -> str | None:
    word = _word(name, cell)
    return None if isinstance(word, UnsetType) else word


def _truth(name: str, cell: str) -> bool | UnsetType:
    word = cell.strip(" ").lower()
    if word and word not in _TRUTHS:
        raise InvalidMessage(f"{name} must be true or false")
    return _TRUTHS.get(word, UNSET)


def _number(name: str, cell: str) -> float | None:
    word = cell.strip(" ")
    if word and not _NUMBER.fullmatch(word):
        raise InvalidMessage(f"{name} must be a number")
    return float(word) if word else None


def _whole(name: str, cell: str) -> float | None:
    number = _number(name, cell)
    return int(number) if number is not None and number.is_integer() else number


def _json(name: str, cell: str) -> Any:
    if not cell.strip():
        return AS_JSON[name]
    try:
        return decode(cell.encode(), Any)
    except MalformedMessage as err:
        raise InvalidMessage(f"{name} must be JSON, as the API has it: {err}") from None


def _labels(name: str, cell: str) -> dict[str, str]:
    labels: dict[str, str] = {}
    for pair in filter(str.strip, _unguarded(cell).split(";")):
        label, equals, value = pair.partition("=")
        if not equals or label.strip() in labels:
            raise InvalidMessage(f"{name} must be name=value;name=value, each name once")
        labels[label.strip()] = _ESCAPED.sub(lambda found: "%" if found[1] == "25" else ";", value)
    return labels


_READS: dict[str, Callable[[str, str], Any]] = {
    **dict.fromkeys(COLUMNS, _word),
    **dict.fromkeys(SECRETS, _secret),
    "enabled": _truth,
    "do_not_process": _truth,
    "tls_fingerprint": _word_or_none,
    "detector": _word_or_none,
    "max_fps": _number,
    "decode": _word_or_none,
    "detect_every_n_frames": _whole,
    "zones": _json,
    "thresholds": _json,
    "labels": _labels,
}


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith(_FORMULA) else cell


def _cell(name: str, value: Any) -> str:
    if name in AS_JSON:
        return encode(value).decode() if value else ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        value = ";".join(f"{name}={_escaped(text)}" for name, text in value.items())
    if isinstance(value, ClearText):
        value = value.secret.reveal()
    text = "" if value is None or value is UNSET else str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace(";", "%3B")
