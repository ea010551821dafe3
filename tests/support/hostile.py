"""Values that parsers stumble over, put into every place of every call of an application.

The places come from the application itself: its route table, and what its document says of paths, queries and bodies. A
route that is new is covered without a word here.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import FastAPI
from starlette.routing import Route, WebSocketRoute

from tests.support.operations import Names, call_of

DIGITS = "9" * 5000  # more than int() takes
DEEP = 20_000

# As they stand in JSON.
STRANGE_NUMBERS = [DIGITS, f"-{DIGITS}", f"1.{DIGITS}", f"{DIGITS}e{DIGITS}", "1e400", "-1e400", "1e-400", str(2**64)]
NO_NUMBERS = ["NaN", "-Infinity"]
STRANGE_TEXTS = [
    '"a\\u0000b"',  # PostgreSQL stores no NUL
    '"\\ud800"',  # half a pair: no UTF-8
    '"\\udc00\\ud800"',
    f'"{DIGITS}"',
    '"0001-01-01T00:00:00+23:59"',  # before the first instant, in UTC
    '"9999-12-31T23:59:59-23:59"',
    '"10000-01-01T00:00:00Z"',
]
NESTED = ["[" * DEEP, "[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP]
OTHERS = ["null", "true", "[]", "{}", "-1", '""', '{"a":1,"a":2}', "[[{}]]"]
VALUES = [*STRANGE_NUMBERS, *NO_NUMBERS, *STRANGE_TEXTS, *OTHERS]
BODIES = [*VALUES, *NESTED, "", "{", "\x00", "\ufeff{}", f'{{"{DIGITS}":{DIGITS}}}', '{"\\u0000":1}', '{"\\ud800":1}']

HEADERS = ["Authorization", "If-Match", "Idempotency-Key", "Last-Event-ID", "X-Request-ID", "Traceparent"]

# As they stand in a path, a query or a header.
WORDS = [DIGITS, f"-{DIGITS}", "1e400", "NaN", "a\x00b", "\ud800", str(2**64), "²", "٣", "9999-12-31T23:59:59-23:59"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request."""

    method: str
    target: str  # path and query, as they go over the wire
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.target[:200]} {dict(self.headers)!r:.200} {self.body!r:.200}"


def routes(app: FastAPI) -> list[tuple[str, str]]:
    """Path and method of every route; a WebSocket is opened by GET."""
    found = []
    for route in app.routes:
        if isinstance(route, WebSocketRoute):
            found.append((route.path, "GET"))
        elif isinstance(route, Route):
            found += [(route.path, method) for method in sorted(route.methods or ()) if method != "HEAD"]
    return found


def attempts(app: FastAPI, path: str, method: str, names: Names) -> Iterator[Attempt]:
    """One route with every value in its path, query, headers, and as its whole body."""
    told = _told(app, path, method)
    queried = [each["name"] for each in told.get("parameters", []) if each["in"] == "query"]
    plain, patience = path.format(**asdict(names)), {"timeout_s": "0"} if "timeout_s" in queried else {}
    for word in WORDS:
        if "{" in path:
            hostile = "/".join(_quoted(word) if part.startswith("{") else part for part in path.split("/"))
            yield Attempt(method=method, target=_target(hostile, patience))
        for name in [*queried, "unknown"]:
            yield Attempt(method=method, target=_target(plain, patience | {name: word}))
        for header in HEADERS if word.isascii() and word.isprintable() else ():
            yield Attempt(method=method, target=_target(plain, patience), headers={header: word})
    content = told.get("requestBody", {}).get("content", {})
    for kind in content or ["application/json"]:
        for body in BODIES if content else BODIES[:1]:
            yield _sent(method, _target(plain, patience), body, kind)


def messages(
    app: FastAPI, path: str, method: str, names: Names, *, values: Sequence[str] = VALUES
) -> Iterator[Attempt]:
    """One route with every value in every field of its message, which is good otherwise."""
    content = _told(app, path, method).get("requestBody", {}).get("content", {}).get("application/json")
    if content is None:
        return
    good = call_of(path, method.lower(), names).body or {}
    for place in dict.fromkeys(_places(content["schema"], app.openapi())):
        for value in values:
            yield _sent(method, path.format(**asdict(names)), _filled(good, place, value), "application/json")


def wants_runner(app: FastAPI, path: str, method: str) -> bool:
    """Whether a route is for runners only."""
    return str(_told(app, path, method).get("x-role", "")).startswith("runner")


def _told(app: FastAPI, path: str, method: str) -> dict[str, Any]:
    """What the document says of an operation; nothing of a WebSocket."""
    told: dict[str, Any] = app.openapi()["paths"].get(path, {}).get(method.lower(), {})
    return told


def lines(columns: list[str]) -> Iterator[tuple[str, str]]:
    """Files of one camera with every value in every column, and their media types."""
    good = {"camera_uuid": "hostile-1", "site_id": "site-a", "rtsp_url": "rtsp://192.0.2.7/1"}
    for column in columns:
        for value in VALUES:
            raw = {name: json.dumps(each) for name, each in good.items()} | {column: value}
            yield "{" + ",".join(f'"{name}":{each}' for name, each in raw.items()) + "}\n", "application/x-ndjson"
        for word in WORDS:
            row = good | {column: word}
            yield ",".join(row) + "\n" + ",".join(row.values()) + "\n", "text/csv"


def _sent(method: str, target: str, body: str, kind: str) -> Attempt:
    content = body.encode("utf-8", errors="surrogatepass")
    return Attempt(method=method, target=target, body=content, headers={"Content-Type": kind})


def _target(path: str, query: dict[str, str]) -> str:
    return path + ("?" + urlencode(query, errors="surrogatepass") if query else "")


def _quoted(word: str) -> str:
    return quote(word, safe="", errors="surrogatepass")


Place = tuple[str | int, ...]
_MARK = "the hostile value"


def _places(schema: dict[str, Any], document: dict[str, Any], depth: int = 3) -> Iterator[Place]:
    """Where a message of a schema has values: the names on the way to each, 0 for what a list holds."""
    if depth == 0:
        return
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for form in schema.get("anyOf", []):
        yield from _places(form, document, depth)
    if isinstance(schema.get("items"), dict):
        yield (0,)
        yield from ((0, *inner) for inner in _places(schema["items"], document, depth))
    for name, each in schema.get("properties", {}).items():
        yield (name,)
        yield from ((name, *inner) for inner in _places(each, document, depth - 1))


def _filled(good: Any, place: Place, value: str) -> str:
    """The JSON of a message that has a value in that place."""
    return json.dumps(_marked(good, place)).replace(json.dumps(_MARK), value)


def _marked(good: Any, place: Place) -> Any:
    if not place:
        return _MARK
    step, *rest = place
    if step == 0:
        first, *others = good if isinstance(good, list) and good else [None]
        return [_marked(first, tuple(rest)), *others]
    known = good if isinstance(good, dict) else {}
    return known | {step: _marked(known.get(step), tuple(rest))}
