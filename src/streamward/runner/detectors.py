"""A Worker's detectors, each loaded once and beside the event loop: somebody's model may take a minute to load."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from streamward.model.errors import StreamwardError
from streamward.runtime.aside import aside
from streamward.vision.detector import Detector, NewVersion
from streamward.vision.unusable import DetectorUnusable

T = TypeVar("T")

AGAIN_AFTER = 10.0  # seconds after which one that could not be had is tried again, the second time after twice as many
LONGEST_REST = 60.0

Newer = Callable[[str, Detector], NewVersion | None]  # than that detector; may take long; raises DetectorUnusable


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """A detector that another version takes the place of."""

    old: Detector
    new: Detector
    version: int


def none_newer(_name: str, _detector: Detector) -> NewVersion | None:
    """Where detectors have no versions."""
    return None


class Detectors:
    """By their names."""

    def __init__(
        self, load: Callable[[str], Detector], newer: Newer = none_newer, *, again_after: float = AGAIN_AFTER
    ) -> None:
        self._load = load
        self._again_after = again_after
        self._newer = newer
        self._loading: dict[str, asyncio.Task[Detector]] = {}

    async def get(self, name: str) -> Detector:
        """Waits until it is loaded, by whomever; raises DetectorUnusable, and is tried again when asked again."""
        loading = self._loading.get(name)
        if loading is None or (loading.done() and loading.exception() is not None):
            work = aside(f"load {name}", partial(self._loaded, name))
            loading = self._loading[name] = asyncio.get_running_loop().create_task(work, name=f"load {name}")
        return await asyncio.shield(loading)

    async def wait_for(
        self, name: str, use: Callable[[Detector], T], tell: Callable[[StreamwardError, float], None]
    ) -> T:
        """What is made of it, however long it takes: it may be put there. Why and when it is tried again is told."""
        rest = self._again_after
        while True:
            try:
                return use(await self.get(name))
            except StreamwardError as error:  # or it could not even be tried
                tell(error, rest)
            await asyncio.sleep(rest)
            rest = min(2 * rest, LONGEST_REST)

    @property
    def names(self) -> list[str]:
        """Those that are loaded."""
        return [name for name, loading in self._loading.items() if _is_loaded(loading)]

    async def renew(self, name: str) -> Renewed | None:
        """If there is a newer version, loads it beside the old one, and whoever asks from then on gets it.

        Raises DetectorUnusable if that is of no use, and the old one stays.
        """
        old = self._loading[name].result()
        newer = await aside(f"renew {name}", partial(self._looked_for, name, old))
        if newer is None:
            return None
        self._loading[name] = asyncio.get_running_loop().create_task(_at_once(newer.detector), name=f"load {name}")
        return Renewed(old=old, new=newer.detector, version=newer.version)

    async def close(self) -> None:
        """Waits for none that is still being loaded."""
        for loading in self._loading.values():
            loading.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)

    def _looked_for(self, name: str, old: Detector) -> NewVersion | Exception | None:
        try:
            return self._newer(name, old)
        except DetectorUnusable as error:
            return error

    def _loaded(self, name: str) -> Detector | Exception:
        try:
            return self._load(name)
        except DetectorUnusable as error:
            return error


def _is_loaded(loading: "asyncio.Task[Detector]") -> bool:
    return loading.done() and not loading.cancelled() and loading.exception() is None


async def _at_once(detector: Detector) -> Detector:
    return detector
