"""ETags: each names one state of one thing."""

from datetime import timedelta

from streamward.model.camera import UNDATED
from streamward.model.errors import StreamwardError
from streamward.model.register import Thing
from streamward.model.runner import Runner


class PreconditionFailed(StreamwardError):
    """Somebody changed the thing since it was read."""

    def __str__(self) -> str:
        return "it was changed since it was read: read it again"


def tag_of(thing: Thing) -> str:
    """The state that a thing is in; with its instant, for a new thing may have an old one's id."""
    if isinstance(thing, Runner):
        return f'"{thing.revision}"'
    return f'"{thing.revision}-{(thing.updated_at - UNDATED) // timedelta(microseconds=1)}"'


def check_tag(if_match: str, thing: Thing) -> None:
    """Refuses an edit of another state than the present one."""
    if if_match not in ("*", tag_of(thing)):
        raise PreconditionFailed
