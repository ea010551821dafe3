"""What can be used up: the host's memory, a GPU's, and whatever an installed package offers.

An entry point of the group `streamward.pressure` is a function without arguments that returns an object with
`async def level(self) -> Pressure`.
"""

from importlib.metadata import entry_points
from typing import Protocol

from streamward.drivers.pressure.host import HostMemory
from streamward.drivers.pressure.nvml import NvmlMemory
from streamward.insight.pressure import Pressure
from streamward.model.errors import StreamwardError

GROUP = "streamward.pressure"


class Source(Protocol):
    """Something that can be used up."""

    async def level(self) -> Pressure: ...


class NoSuchSource(StreamwardError):
    """A name that nobody knows."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name

    def __str__(self) -> str:
        return f"there is no source of pressure {self.name!r}: STREAMWARD_BATCH_PRESSURE names memory, nvml and queue"


def load_source(name: str) -> Source:
    """The source of that name; raises NoSuchSource."""
    if name == "memory":
        return HostMemory()
    if name == "nvml":
        return NvmlMemory()
    for found in entry_points(group=GROUP, name=name):
        made: Source = found.load()()
        return made
    raise NoSuchSource(name)


__all__ = ["GROUP", "HostMemory", "NoSuchSource", "NvmlMemory", "Source", "load_source"]
