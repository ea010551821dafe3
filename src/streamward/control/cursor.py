"""Cursors of listings: opaque, and good only for the listing that gave them.

A cursor is the position it stands for and a code over that position and the listing's filters, so that an edited one,
one of another listing and one of another tenant are all refused. Every control plane with the same keys accepts it.
"""

import base64
import hmac
from collections.abc import Callable
from typing import Any

from streamward.model.errors import StreamwardError
from streamward.protocol.codec import encode

_CODE_LENGTH = 16  # bytes


class CursorRefused(StreamwardError):
    """A cursor that this listing did not give."""

    def __str__(self) -> str:
        return "the cursor is not one of this listing: start again without one"


class Cursors:
    """Makes and reads cursors."""

    def __init__(self, keys: Callable[[], list[bytes]]) -> None:
        self._keys = keys  # the first seals, every one opens

    def seal(self, position: str, *, filters: Any) -> str:
        """The cursor that goes on after `position` in the listing with those filters."""
        return _sealed(self._keys()[0], position, filters=filters)

    def open(self, cursor: str, *, filters: Any) -> str:
        """The position that a cursor stands for."""
        try:
            raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            position = raw[_CODE_LENGTH:].decode()
        except ValueError:
            raise CursorRefused from None
        # Compared as text: base64 has several spellings of the same bytes.
        given = cursor.encode()
        if not any(
            hmac.compare_digest(given, _sealed(key, position, filters=filters).encode()) for key in self._keys()
        ):
            raise CursorRefused
        return position


def _sealed(key: bytes, position: str, *, filters: Any) -> str:
    code = hmac.digest(key, encode([filters, position]), "sha256")[:_CODE_LENGTH]
    return base64.urlsafe_b64encode(code + position.encode()).decode().rstrip("=")
