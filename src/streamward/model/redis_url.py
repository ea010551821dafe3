"""URLs of Redis servers, read strictly: a bare `/` or `#` in a password would be part of an address that is shown."""

import re
from urllib.parse import parse_qs, urlsplit

RULE = (
    "must be redis://user:password@host:port/database or rediss://…, with %-escapes for special characters in user "
    "and password, a number as the database, and no query but rediss's cafile"
)

_QUERIES: dict[str, set[str]] = {"redis": set(), "rediss": {"cafile"}}  # by scheme
_DATABASE = re.compile(r"/?|/[0-9]{1,5}")


def is_redis(url: str) -> bool:
    """Whether it names a server, in one way only."""
    try:
        parts = urlsplit(url)
        named = parts.hostname is not None and parts.port != 0
        query = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError:
        return False
    plain = not parts.fragment and _DATABASE.fullmatch(parts.path) is not None
    return named and plain and parts.scheme in _QUERIES and query.keys() <= _QUERIES[parts.scheme]
