"""Ids: one type for each noun, one alphabet for all.

An id is 1 to 64 characters of `A-Z a-z 0-9 _ -`, so that it can stand in a routing key, a path, a file name and a log
line without escaping. An id that has the shape of a UUID is written in lower case: two spellings would be two cameras.
"""

import re
from typing import NewType

from streamward.model.errors import StreamwardError

TenantId = NewType("TenantId", str)
SiteId = NewType("SiteId", str)
CameraId = NewType("CameraId", str)
RunnerId = NewType("RunnerId", str)
ShardId = NewType("ShardId", str)
Incarnation = NewType("Incarnation", str)  # one start of a runner's process; never used twice
Generation = NewType("Generation", int)  # rises by one with each grant of a camera, for ever

_UPPER_UUID = r"(?=.*[A-F])[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
PATTERN = rf"^(?!{_UPPER_UUID})[A-Za-z0-9_-]{{1,64}}$(?!\n)"  # `$` alone would let a last newline pass

_ID = re.compile(PATTERN)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class MalformedId(StreamwardError):
    """A text that cannot be an id."""

    def __init__(self, field: str) -> None:
        super().__init__(field)
        self.field = field

    def __str__(self) -> str:
        return f"{self.field} must be 1 to 64 letters, digits, '_' or '-' (a UUID in lower case)"


def check_id(field: str, text: str) -> str:
    """Returns the text if it can be an id."""
    if not _ID.search(text):
        raise MalformedId(field)
    return text


def is_uuid(text: str) -> bool:
    """Whether nobody else can have chosen the same by chance."""
    return _UUID.fullmatch(text) is not None
