"""Where a session's requests go: Content-Base, `a=control` and the URL that was asked for, made into one URL.

As cameras mean it and not as RFC 3986 would have it: what is relative is put behind the base with a slash between,
query or not. Host, port and scheme are always those of the URL that was dialed: cameras behind a translated address
name their inner one, and a digest must not be made for a host of the camera's choice. Logins in their URLs are dropped.
"""

import re

from streamward.model.source_url import SourceUrl
from streamward.protocol.rtsp.message import Headers
from streamward.protocol.rtsp.sdp import Description, Track

_ABSOLUTE = re.compile(r"rtspu?s?://[^/?]*(.*)", re.IGNORECASE | re.DOTALL)


def base_of(dialed: SourceUrl, headers: Headers) -> str:
    """The base that an answer to DESCRIBE tells; without one, the URL that was dialed."""
    told = headers.get("Content-Base") or headers.get("Content-Location") or ""
    return _moved(dialed, told) or str(dialed)


def aggregate_url(dialed: SourceUrl, base: str, description: Description) -> str:
    """What PLAY and TEARDOWN are asked of."""
    return _resolved(dialed, base, description.control)


def track_url(dialed: SourceUrl, base: str, track: Track) -> str:
    """What SETUP is asked of."""
    return _resolved(dialed, base, track.control)


def _resolved(dialed: SourceUrl, base: str, control: str) -> str:
    if control in {"", "*"}:
        return base
    if absolute := _moved(dialed, control):
        return absolute
    return base + control if base.endswith("/") or control.startswith("?") else f"{base}/{control.removeprefix('/')}"


def _moved(dialed: SourceUrl, url: str) -> str | None:
    """An absolute URL, on the host that was dialed."""
    found = _ABSOLUTE.fullmatch(url.strip())
    place = str(dialed).removesuffix(dialed.path)
    return place + found[1] if found else None
