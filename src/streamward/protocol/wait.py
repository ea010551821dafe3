"""Waiting for a change."""

from typing import Annotated

import msgspec

from streamward.protocol.fields import Message

LONGEST_WAIT = 25.0  # seconds: below the minute after which proxies give up


class WaitQuery(Message, frozen=True):
    """Runner waits until leases free up or cameras change; answered by Changed."""

    after: Annotated[str, msgspec.Meta(max_length=64, description="`cursor` of the answer before")] | None = None
    timeout_s: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_WAIT)] = 20.0


class Changed(Message, frozen=True):
    """Control plane: whether something changed after the cursor named, and the cursor for the next wait."""

    cursor: str
    changed: bool
