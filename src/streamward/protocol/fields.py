"""The field types that messages share."""

from typing import Annotated

import msgspec

from streamward.leases.policy import LONGEST_TTL, SHORTEST_TTL
from streamward.model.ids import PATTERN

Id = Annotated[str, msgspec.Meta(pattern=PATTERN, description="1 to 64 of A-Z a-z 0-9 _ -; a UUID in lower case")]
Version = Annotated[int, msgspec.Meta(ge=0, lt=2**63, description="the lease's generation")]
TtlSeconds = Annotated[float, msgspec.Meta(ge=SHORTEST_TTL, le=LONGEST_TTL)]
Capacity = Annotated[int, msgspec.Meta(ge=0, le=10_000)]


class Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """What every message of ours is: a value of declared fields and no others."""
