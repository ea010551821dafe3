"""Runner → control plane and back: cameras of runners that drain, which others watch silently before they hold them."""

from typing import Annotated

import msgspec

from streamward.leases.handover import Handing, HandoverAsk
from streamward.leases.holder import MOST_ASKED
from streamward.model.ids import CameraId, Generation
from streamward.protocol.fields import Id, Message
from streamward.protocol.leases import CameraSource, NamedLease

MOST_WATCHED = 1000  # cameras in one message
Watched = Annotated[list[Id], msgspec.Meta(max_length=MOST_WATCHED)]


class AskHandovers(Message, frozen=True):
    """Runner, every two seconds and more often while something is handed over; answered by HandoverAnswers.

    It tells which of the cameras that it watches it sees, which it cannot, and for how many more it has room.
    """

    runner_id: Id
    room: Annotated[int, msgspec.Meta(ge=0, le=MOST_ASKED)] = 0
    shown: Watched = msgspec.field(default_factory=list)
    refused: Watched = msgspec.field(default_factory=list)
    incarnation: Id | None = None


class WatchCamera(Message, frozen=True):
    """Control plane, to the runner that is the camera's heir: dial it, and say nothing of it.

    `version` is its owner's. Without a source its credential cannot be opened.
    """

    camera_uuid: str
    tenant_id: str
    site_id: str
    version: int
    source: CameraSource | None


class HandoverAnswers(Message, frozen=True):
    """Control plane: what the runner may watch, and which of its own cameras an heir watches, or sees already.

    `moving` names those of its own that are moved to balance the fleet: it releases such a one when its heir sees it,
    though it is not drained. Without any it is left out, for runners of earlier versions.
    """

    watch: list[WatchCamera]
    awaited: list[str]
    shown: list[str]
    moving: list[NamedLease] | msgspec.UnsetType = msgspec.UNSET


def asked(ask: HandoverAsk) -> AskHandovers:
    """The message that carries an ask."""
    return AskHandovers(
        runner_id=ask.owner.runner_id,
        room=min(ask.room, MOST_ASKED),
        shown=sorted(map(str, ask.shown))[:MOST_WATCHED],
        refused=sorted(map(str, ask.refused))[:MOST_WATCHED],
        incarnation=ask.owner.incarnation,
    )


def handing(answers: HandoverAnswers) -> Handing:
    """How the heirs of a runner's own cameras do."""
    moving = [] if isinstance(answers.moving, msgspec.UnsetType) else answers.moving
    return Handing(
        awaited=frozenset(map(CameraId, answers.awaited)),
        shown=frozenset(map(CameraId, answers.shown)),
        moving=frozenset((CameraId(each.camera_uuid), Generation(each.version)) for each in moving),
    )


def watch(answers: HandoverAnswers) -> dict[CameraId, Generation]:
    """What the runner may watch, each with its owner's generation."""
    return {CameraId(each.camera_uuid): Generation(each.version) for each in answers.watch}
