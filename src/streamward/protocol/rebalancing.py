"""Operators → control plane and back: moves of cameras that balance a fleet."""

from streamward.protocol.fields import Message


class RebalanceFleet(Message, frozen=True):
    """Operator, to have cameras moved from runners that hold more to those that hold less; FleetRebalanced answers.

    A dry run answers the moves and starts none.
    """

    dry_run: bool = False


class CameraMove(Message, frozen=True):
    """A camera that is to go from one runner to another; `version` is the present owner's."""

    camera_uuid: str
    tenant_id: str
    version: int
    from_runner: str
    to_runner: str


class FleetRebalanced(Message, frozen=True):
    """Control plane: the moves that have been started, and how many more a balanced fleet needs.

    A move that is not done within 25 seconds ends, and its camera stays where it is.
    """

    moves: list[CameraMove]
    left: int
    dry_run: bool
