"""URLs of brokers, read strictly: a password with a bare `/` or `#` would become part of an address that is shown."""

from urllib.parse import parse_qs, urlsplit

RULE = (
    "must be amqp://user:password@host:port/vhost or amqps://…, with %-escapes for special characters in "
    "user, password and vhost, and no query but amqps's cafile"
)

_QUERIES: dict[str, set[str]] = {"amqp": set(), "amqps": {"cafile"}}  # by scheme


def is_broker(url: str) -> bool:
    """Whether it names a broker, in one way only."""
    try:
        parts = urlsplit(url)
        named = parts.hostname is not None and parts.port != 0
        query = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
    except ValueError:
        return False
    plain = not parts.fragment and "/" not in parts.path[1:] and "@" not in parts.path
    return named and plain and parts.scheme in _QUERIES and query.keys() <= _QUERIES[parts.scheme]
