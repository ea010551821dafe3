"""The field types that messages share."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated

import msgspec

from streamward.leases.policy import LONGEST_TTL, SHORTEST_TTL
from streamward.model.ids import PATTERN
from streamward.model.secret import Secret

Id = Annotated[str, msgspec.Meta(pattern=PATTERN, description="1 to 64 of A-Z a-z 0-9 _ -; a UUID in lower case")]
Version = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1, description="the lease's generation")]
TtlSeconds = Annotated[float, msgspec.Meta(ge=SHORTEST_TTL, le=LONGEST_TTL)]
Capacity = Annotated[int, msgspec.Meta(ge=0, le=10_000)]
LARGEST_PAGE = 1000
Limit = Annotated[int, msgspec.Meta(ge=1, le=LARGEST_PAGE)]
Cursor = Annotated[str, msgspec.Meta(description="`next_cursor` of the page before, with the same filters")]
Fingerprint = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[0-9A-Fa-f]{2}(:?[0-9A-Fa-f]{2}){31}$(?!\n)",
        description="the SHA-256 fingerprint of a certificate: 64 hexadecimal digits, colons allowed",
    ),
]
Instant = Annotated[datetime, msgspec.Meta(tz=True)]  # one without a zone could not be compared with ours


class ClearText:
    """A secret on the wire: read into a `Secret`, and written in clear by `codec.encode` alone."""

    __slots__ = ("secret",)

    def __init__(self, secret: Secret) -> None:
        self.secret = secret

    def __repr__(self) -> str:
        return f"ClearText({self.secret!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ClearText) and self.secret == other.secret

    def __hash__(self) -> int:
        return hash(self.secret)


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """What every message of ours is: a value of declared fields and no others."""


class PageQuery(Message, frozen=True):
    """Which part of a listing in the order of ids."""

    limit: Limit = 100
    cursor: Cursor | None = None


def check_year(*instants: datetime | None) -> None:
    """Refuses instants at the edges of the calendar, where turning them into UTC or adding a second overflows."""
    if any(instant is not None and not 1970 <= instant.year < 9000 for instant in instants):
        raise ValueError("an instant must lie in the years 1970 to 8999")


def check_repeats(camera_ids: Iterable[str], *, most: int) -> None:
    """Refuses a list that names one camera too often: its turns come one after the other, and everybody waits."""
    if any(count > most for count in Counter(camera_ids).values()):
        raise ValueError(f"a camera is named more often than {most} times")
