"""JSON in and out, under one policy: what we receive is exactly what was declared, or it is refused.

Refused: unknown fields, fields given twice, numbers in strings, NaN, nesting without end, text that is not UTF-8.
"""

import json
from typing import Any, TypeVar

import msgspec

from streamward.model.errors import StreamwardError

MAX_BODY = 1 << 20  # bytes; a renewal of 10,000 cameras fits

T = TypeVar("T")


class MalformedMessage(StreamwardError):
    """A body that is not the message it should be."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


def encode(message: Any) -> bytes:
    """The message as JSON."""
    return msgspec.json.encode(message)


def decode(body: bytes, kind: type[T]) -> T:
    """The message in a body of JSON."""
    try:
        message = msgspec.json.decode(body, type=kind)
        json.loads(body, object_pairs_hook=_once, parse_constant=_no_constant)
    except (msgspec.ValidationError, msgspec.DecodeError) as err:
        raise MalformedMessage(str(err)) from None
    except RecursionError:
        raise MalformedMessage("JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise MalformedMessage("body is not UTF-8") from None
    return message


def _once(pairs: list[tuple[str, Any]]) -> None:
    if len(pairs) != len({key for key, _ in pairs}):
        raise MalformedMessage("a field is given twice")


def _no_constant(name: str) -> None:
    raise MalformedMessage(f"{name} is not JSON")
