"""Errors on the wire: RFC 9457 problem details, with a word that programs may act on."""

from typing import Any

import msgspec

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What went wrong: `reason` for programs, `detail` for people; never anything internal."""

    title: str
    status: int
    detail: str
    reason: str
    type: str = "about:blank"
    retry_in_ms: int | None = None
    fields: dict[str, Any] | None = None
