"""JSON in and out, under one policy: what we receive is exactly what was declared, or it is refused.

Refused: unknown fields, fields given twice, numbers in strings, NaN, numbers out of range whatever their length,
nesting without end, text that is not UTF-8, and text with NUL, which PostgreSQL does not store.
What is told about a refusal names the place and the rule, and repeats no more of the message than a short beginning.
"""

import json
import math
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from streamward.model.errors import StreamwardError
from streamward.model.ids import PATTERN
from streamward.model.secret import MASK, Secret
from streamward.protocol.fields import ClearText
from streamward.protocol.problem import MEDIA_TYPE, Problem

MAX_BODY = 1 << 20  # bytes; a renewal of 10,000 cameras fits
LONGEST_DETAIL = 300  # characters

_ID_RULE = "of 1 to 64 letters, digits, '_' or '-' (a UUID in lower case)"
_STRANGE_NAME = re.compile(r"unknown field `(?![A-Za-z0-9_.-]{1,64}`).*`", re.DOTALL)  # a URL with its password, say

_NUL = "Expected text without NUL"

T = TypeVar("T")


class MalformedMessage(StreamwardError):
    """A body that is not JSON."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        named = _STRANGE_NAME.sub("unknown field", detail)
        self.detail = named.replace(f"matching regex {PATTERN!r}", _ID_RULE)[:LONGEST_DETAIL]

    def __str__(self) -> str:
        return self.detail


class InvalidMessage(MalformedMessage):
    """JSON, but not the message it should be."""


def encode(message: Any) -> bytes:
    """The message as JSON."""
    return msgspec.json.encode(message, enc_hook=_written)


def decode(body: bytes, kind: type[T]) -> T:
    """The message in a body of JSON."""
    try:
        return _decoded(body, kind)
    except RecursionError:
        raise MalformedMessage("JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise MalformedMessage("body is not UTF-8") from None


def problem_in(kind: str, body: bytes) -> Problem | None:
    """The problem that an answer of this media type tells; None: it is none, or no readable one."""
    if kind != MEDIA_TYPE:
        return None
    try:
        return decode(body, Problem)
    except MalformedMessage:
        return None


def decode_query(pairs: Iterable[tuple[str, str]], kind: type[T]) -> T:
    """The message in a query string, where all is text and an empty value is none (S0-066 writes `tenant_id=`)."""
    given = [(key, value) for key, value in pairs if value]
    if len(given) != len(dict(given)):
        raise InvalidMessage("a query parameter is given twice")
    try:
        message = msgspec.convert(dict(given), kind, strict=False)
    except msgspec.ValidationError as err:
        raise InvalidMessage(str(err)) from None
    for key, text in given:
        _check_text(key, text, getattr(message, key))
    return message


def convert(fields: dict[str, Any], kind: type[T]) -> T:
    """The message with these fields."""
    try:
        _refuse_nul(fields)
        return msgspec.convert(fields, kind, dec_hook=_read)
    except msgspec.ValidationError as err:
        raise InvalidMessage(str(err)) from None


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        message = msgspec.json.decode(body, type=kind, dec_hook=_read)
    except msgspec.ValidationError as err:
        _check_form(body)  # what is not JSON at all is told as that, also when it begins like a wrong message
        raise InvalidMessage(str(err)) from None
    except msgspec.DecodeError as err:
        raise MalformedMessage(str(err)) from None
    if not _is_our_form(message, body):
        _check_form(body)
    return message


def _is_our_form(message: object, body: bytes) -> bool:
    """Whether it is what `encode` writes, where no field is given twice: which is quicker than the full check."""
    return b"\\u0000" not in body and encode(message) == body


def _check_text(key: str, text: str, value: Any) -> None:
    """Refuses what `msgspec` is too kind to: a filter that is `null` would filter nothing."""
    if "\0" in text:
        raise InvalidMessage(f"{_NUL} - at `$.{key}`")
    if value is None:
        raise InvalidMessage(f"Expected a value, or nothing at all - at `$.{key}`")
    if isinstance(value, bool) and text.lower() not in {"true", "false"}:
        raise InvalidMessage(f"Expected `true` or `false` - at `$.{key}`")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidMessage(f"Expected a number - at `$.{key}`")
    if isinstance(value, datetime) and ":" not in text:
        raise InvalidMessage(f"Expected an instant of RFC 3339 - at `$.{key}`")


def _written(value: Any) -> str:
    """What `msgspec` cannot write by itself: a secret is written as `***` unless it was meant to go out."""
    if isinstance(value, ClearText):
        return value.secret.reveal()
    if isinstance(value, Secret):
        return MASK
    raise TypeError(f"{type(value).__name__} does not go into a message")


def _read(kind: type[Any], value: Any) -> Any:
    """The one type that `msgspec` does not know; what came instead is not repeated."""
    if kind is not ClearText:
        return value
    if not isinstance(value, str):
        raise TypeError("Expected `str`")
    return ClearText(Secret(value))


def _check_form(body: bytes) -> None:
    """Refuses what `msgspec` lets pass or does not come to: fields given twice, and whatever is wrong further on.

    Numbers are not converted: `int` takes no more than 4,300 digits, and needs long for those. `msgspec` bounds them.
    """
    try:
        json.loads(body, object_pairs_hook=_once, parse_constant=_no_constant, parse_int=len, parse_float=len)
        if b"\\u0000" in body:
            _refuse_nul(json.loads(body, parse_int=len, parse_float=len))
    except json.JSONDecodeError as err:
        raise MalformedMessage(f"JSON is malformed: {err}") from None


def _refuse_nul(value: Any) -> None:
    left = [value]
    while left:  # no recursion: what is nested deeply is refused elsewhere, with a reason
        each = left.pop()
        if isinstance(each, str) and "\0" in each:
            raise InvalidMessage(_NUL)
        if isinstance(each, dict):
            left += [*each, *each.values()]
        elif isinstance(each, list):
            left += each


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) != len(dict(pairs)):
        raise InvalidMessage("a field is given twice")


def _no_constant(name: str) -> None:
    raise MalformedMessage(f"{name} is not JSON")
