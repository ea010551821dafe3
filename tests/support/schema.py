"""Checks answers against the OpenAPI document: as much of JSON Schema as our document uses."""

import re
from datetime import datetime
from typing import Any

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_KNOWN = {
    "$ref", "anyOf", "type", "enum", "properties", "required", "additionalProperties", "items", "minimum", "maximum",
    "exclusiveMinimum", "minItems", "maxItems", "prefixItems", "maxLength", "pattern", "format", "title", "description",
    "default",
}  # fmt: skip


class Document:
    """An OpenAPI document that can be asked whether a call went as it says."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.paths: dict[str, dict[str, Any]] = document["paths"]
        self._schemas = document["components"]["schemas"]

    def operation(self, method: str, path: str) -> dict[str, Any] | None:
        """What is documented of that call; None if no route takes it."""
        for template, operations in self.paths.items():
            if re.fullmatch(re.sub(r"{\w+}", "[^/]+", template), path):
                found: dict[str, Any] | None = operations.get(method.lower())
                return found
        return None

    def faults(self, schema: dict[str, Any], value: Any, *, where: str = "$") -> list[str]:
        """What is wrong with a value by its schema."""
        assert set(schema) <= _KNOWN, f"this checker does not know {set(schema) - _KNOWN}"
        if "$ref" in schema:
            return self.faults(self._schemas[schema["$ref"].rpartition("/")[2]], value, where=where)
        if "anyOf" in schema:
            tried = [self.faults(each, value, where=where) for each in schema["anyOf"]]
            return [] if [] in tried else [f"{where}: none of anyOf: {tried}"]
        return [*_plain(schema, value, where), *self._inner(schema, value, where)]

    def _inner(self, schema: dict[str, Any], value: Any, where: str) -> list[str]:
        if isinstance(value, list):
            first, each = schema.get("prefixItems", []), schema.get("items") or {}
            kinds = [*first, *[each] * len(value)]
            return [
                fault for n, item in enumerate(value) for fault in self.faults(kinds[n], item, where=f"{where}[{n}]")
            ]
        if not isinstance(value, dict):
            return []
        known = schema.get("properties", {})
        missing = [f"{where}: {name} is missing" for name in schema.get("required", []) if name not in value]
        extra = [
            f"{where}: {name} is not documented"
            for name in value
            if name not in known and schema.get("additionalProperties") is False
        ]
        inner = [
            fault
            for name, item in value.items()
            if name in known
            for fault in self.faults(known[name], item, where=f"{where}.{name}")
        ]
        return [*missing, *extra, *inner]


def _plain(schema: dict[str, Any], value: Any, where: str) -> list[str]:
    faults = []
    kind = schema.get("type")
    is_bool_as_number = isinstance(value, bool) and kind in ("integer", "number")
    if kind is not None and (not isinstance(value, _TYPES[kind]) or is_bool_as_number):
        faults.append(f"{where}: {value!r} is no {kind}")
    if "enum" in schema and value not in schema["enum"]:
        faults.append(f"{where}: {value!r} is none of {schema['enum']}")
    if schema.get("format") == "date-time" and not _is_utc(value):
        faults.append(f"{where}: {value!r} is no UTC instant")
    return faults


def _is_utc(text: Any) -> bool:
    return isinstance(text, str) and text.endswith("Z") and datetime.fromisoformat(text).tzinfo is not None
