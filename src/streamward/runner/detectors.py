"""A Worker's detectors, each loaded once and beside the event loop: somebody's model may take a minute to load."""

import asyncio
from collections.abc import Callable
from functools import partial

from streamward.runtime.aside import aside
from streamward.vision.detector import Detector, DetectorUnusable


class Detectors:
    """By their names."""

    def __init__(self, load: Callable[[str], Detector]) -> None:
        self._load = load
        self._loading: dict[str, asyncio.Task[Detector]] = {}

    async def get(self, name: str) -> Detector:
        """Waits until it is loaded, by whomever; raises DetectorUnusable, and is tried again when asked again."""
        loading = self._loading.get(name)
        if loading is None or (loading.done() and loading.exception() is not None):
            work = aside(f"load {name}", partial(self._loaded, name))
            loading = self._loading[name] = asyncio.get_running_loop().create_task(work, name=f"load {name}")
        return await asyncio.shield(loading)

    async def close(self) -> None:
        """Waits for none that is still being loaded."""
        for loading in self._loading.values():
            loading.cancel()
        await asyncio.gather(*self._loading.values(), return_exceptions=True)

    def _loaded(self, name: str) -> Detector | Exception:
        try:
            return self._load(name)
        except DetectorUnusable as error:
            return error
