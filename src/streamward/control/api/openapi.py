"""The OpenAPI document, from the same types that decode and encode the messages."""

import functools
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from streamward.protocol.fields import ClearText, Id
from streamward.protocol.listening import MEDIA_TYPE as EVENTS
from streamward.protocol.problem import MEDIA_TYPE, Problem

_REF = "#/components/schemas/{name}"
_PATH_ID = re.compile(r"{(\w+)}")

SECURITY_SCHEMES = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "EdDSA; minted by `streamward token` on the control host",
    }
}


_ETAG = {"description": "Names this state, for If-Match", "schema": {"type": "string"}}
_HEADERS: dict[str, dict[str, Any]] = {
    "if_match": {
        "name": "If-Match",
        "in": "header",
        "required": True,
        "description": "The ETag that was read, or `*`",
        "schema": {"type": "string"},
    },
    "once_key": {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "description": "The caller's name for this creation: repeated within a day, it creates nothing twice",
        "schema": {"type": "string", "pattern": "^[\\x21-\\x7e]{1,128}$"},
    },
    "last_event_id": {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "description": "The id of the last event that was read, as browsers send it; wins over `after`",
        "schema": {"type": "string"},
    },
}


class Schemas:
    """The schemas that routes refer to, each under one name."""

    def __init__(self) -> None:
        self.components: dict[str, Any] = {}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type, or a reference to it."""
        schema, components = _described(kind)
        for name, component in components.items():
            assert self.components.setdefault(name, component) == component, f"two messages are named {name}"
        return dict(schema)

    def answer(self, kind: Any, description: str, *, is_tagged: bool = False) -> dict[str, Any]:
        """A good answer; one that is not a message is plain text."""
        if kind is None:
            return {"description": description, "content": {"text/plain": {"schema": {"type": "string"}}}}
        told = {"description": description, "content": {"application/json": {"schema": self.of(kind)}}}
        return {**told, "headers": {"ETag": _ETAG}} if is_tagged else told

    def file(self, media_types: Iterable[str]) -> dict[str, Any]:
        """A file, whose lines this document does not describe, nor the events of a stream."""
        forms = {media_type: {} if media_type == EVENTS else {"type": "string"} for media_type in media_types}
        return {"content": {media_type: {"schema": form} for media_type, form in forms.items()}}

    def refusals(self, sentences: dict[int, str]) -> dict[int | str, dict[str, Any]]:
        """What a route may refuse, by status; an empty sentence is the status's own phrase."""
        content = {MEDIA_TYPE: {"schema": self.of(Problem)}}
        return {
            status: {"description": sentence or HTTPStatus(status).phrase, "content": content}
            for status, sentence in sorted(sentences.items())
        }

    def body(self, kind: Any, *, required: bool) -> dict[str, Any]:
        """A request's body."""
        return {"required": required, "content": {"application/json": {"schema": self.of(kind)}}}

    def parameters(self, path: str, query: Any, *, headers: Iterable[str] = ()) -> list[dict[str, Any]]:
        """What stands in a route's path, headers and query."""
        in_path = [
            {"name": name, "in": "path", "required": True, "schema": self.of(Id)} for name in _PATH_ID.findall(path)
        ]
        in_headers = [_HEADERS[name] for name in headers]
        return in_path + in_headers + (list(self._query(query)) if query is not None else [])

    def _query(self, query: Any) -> Iterable[dict[str, Any]]:
        _, components = _described(query)
        schema = components[query.__name__]
        for name, each in schema["properties"].items():
            yield {"name": name, "in": "query", "required": name in schema["required"], "schema": _without_null(each)}


@functools.cache
def _described(kind: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A type's schema, and those that it refers to."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template=_REF, schema_hook=_clear_text)
    return schema, components


def _clear_text(kind: type[Any]) -> dict[str, Any]:
    assert kind is ClearText, kind
    return {"type": "string", "format": "password"}


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query parameter is left out, never null."""
    left = [each for each in schema.get("anyOf", []) if each != {"type": "null"}]
    return left[0] if len(left) == 1 else schema


def document(app: FastAPI, schemas: Schemas) -> dict[str, Any]:
    """The whole document."""
    told = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    told["components"] = {
        "schemas": dict(sorted(schemas.components.items())),
        "securitySchemes": SECURITY_SCHEMES,
    }
    return told
