"""First connections of many cameras at once: what one call for each would make a rush of."""

from typing import Annotated

import msgspec

from streamward.protocol.fields import Id, Message, Version

MOST_DIALS = 1000  # in one message


class SiteDial(Message, frozen=True):
    """One first connection of TakeDials or FinishDials."""

    site_id: Id
    camera_uuid: Id
    version: Version


Dials = Annotated[list[SiteDial], msgspec.Meta(max_length=MOST_DIALS)]


class TakeDials(Message, frozen=True):
    """Runner is about to make first connections; what is asked again costs nothing. Answered by DialsAnswered."""

    items: Dials


class DialAnswer(Message, frozen=True):
    """One of DialsAnswered: go if there is no reason not to; else ask again after that time, with jitter."""

    camera_uuid: str
    reason: str | None = None
    retry_in_ms: int | None = None


class DialsAnswered(Message, frozen=True):
    """Control plane: whether each may go, in the order in which they were asked for."""

    items: list[DialAnswer]


class FinishDials(Message, frozen=True):
    """Runner has made first connections, or failed to; answered by DialsFinished."""

    items: Dials


class DialsFinished(Message, frozen=True):
    """Control plane: so many no longer count as in flight; the others had ended, or were not known."""

    finished: int
