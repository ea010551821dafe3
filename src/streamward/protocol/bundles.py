"""What is signed of a model that goes from whoever makes it to the hosts that use it."""

from typing import Annotated

import msgspec

from streamward.protocol.fields import Id, Instant, Message

Sha256 = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class ModelBundle(Message, frozen=True):
    """The description in a bundle, over whose bytes its signature goes: which model of which version.

    Shown the picture, the model has to find all `labels`; without a picture it has to give finite numbers only.
    """

    name: Id
    version: Annotated[int, msgspec.Meta(ge=1, le=2**53)]
    suffix: Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]{1,16}$(?!\n)", description="what files of its kind end in")]
    model: Sha256
    made_at: Instant
    picture: Sha256 | None = None
    labels: Annotated[list[str], msgspec.Meta(max_length=64)] = msgspec.field(default_factory=list)
