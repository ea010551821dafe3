"""Runners as operators see and steer them."""

from msgspec import UNSET, UnsetType

from streamward.model.runner import DrainMode
from streamward.protocol.fields import Capacity, Id, Message
from streamward.protocol.leases import RunnerFlags


class RunnerList(Message, frozen=True):
    """Control plane: every runner that it knows, in the order of their ids."""

    items: list[RunnerFlags]


class ChangeRunner(Message, frozen=True):
    """Operator sets flags of a runner, and leaves alone what is not named; answered by RunnerFlags."""

    cordoned: bool | UnsetType = UNSET
    drain_mode: DrainMode | UnsetType = UNSET
    capacity_streams: Capacity | UnsetType = UNSET
    detector: Id | UnsetType | None = UNSET  # of all its Workers, which are replaced; null: its own setting
