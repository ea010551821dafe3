"""Errors on the wire: RFC 9457 problem details, with a word that programs may act on."""

from typing import Any

import msgspec

MEDIA_TYPE = "application/problem+json"


class LineFault(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with one line of a file, in the same words as if it had been sent alone."""

    line: int
    camera_uuid: str | None  # none: it names none, or none that could be one
    detail: str
    reason: str


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong: `reason` for programs, `detail` for people; never anything internal."""

    title: str
    status: int
    detail: str
    reason: str
    type: str = "about:blank"
    retry_in_ms: int | None = None
    fields: dict[str, Any] | None = None
    lines: list[LineFault] | None = None  # of an import
