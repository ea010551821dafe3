"""Cursors of listings: opaque, and good only for the listing that gave them.

A cursor is the position it stands for and a code over that position and the listing's filters, so that an edited one,
one of another listing and one of another tenant are all refused. Every control plane with the same key accepts it.
"""

import base64
import hmac
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

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, position: str, *, filters: Any) -> str:
        """The cursor that goes on after `position` in the listing with those filters."""
        code = hmac.digest(self._key, encode([filters, position]), "sha256")[:_CODE_LENGTH]
        return base64.urlsafe_b64encode(code + position.encode()).decode().rstrip("=")

    def open(self, cursor: str, *, filters: Any) -> str:
        """The position that a cursor stands for."""
        try:
            raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
            position = raw[_CODE_LENGTH:].decode()
        except ValueError:
            raise CursorRefused from None
        # Compared as text: base64 has several spellings of the same bytes.
        if not hmac.compare_digest(cursor.encode(), self.seal(position, filters=filters).encode()):
            raise CursorRefused
        return position
