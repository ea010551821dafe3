"""Where a Worker keeps the last seconds of its cameras; this is wiring: it names drivers."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

from streamward.drivers.clip_folder import ClipFolder, checked
from streamward.drivers.cutting import PyAvCutter
from streamward.model.errors import StreamwardError
from streamward.protocol.shards import ShardConfig
from streamward.runner.facts import ClipsNotKept
from streamward.runner.recent import Recent
from streamward.runtime.journal import Journal
from streamward.vision.ring import Memory, Ring, Shelf


def check(config: ShardConfig) -> None:
    """Before anything is begun; raises ClipFolderUnusable."""
    if config.clip_folder is not None:
        checked(Path(config.clip_folder))


@contextlib.asynccontextmanager
async def kept(config: ShardConfig, journal: Journal) -> AsyncIterator[Recent]:
    """In memory, or in a folder; raises ClipFolderUnusable."""
    seconds, most = config.clip_seconds, config.clip_bytes
    async with contextlib.AsyncExitStack() as opened:
        shelf: Callable[[], Shelf] = Memory
        lost: Callable[[], int] = int
        if config.clip_folder is not None and seconds and most:
            tell = partial(_told, asyncio.get_running_loop(), journal)
            folder = ClipFolder(Path(config.clip_folder), tell=tell)
            opened.push_async_callback(folder.close)
            shelf, lost = partial(folder.shelf, most), lambda: folder.lost
        most = most if seconds else 0
        limit = f"{seconds:g} s (STREAMWARD_RUNNER_CLIP_S) and {most >> 20} MiB (STREAMWARD_RUNNER_CLIP_MB)"
        yield Recent(
            lambda: Ring(seconds=seconds, most_bytes=most, shelf=shelf()), PyAvCutter(), lost=lost, limit=limit
        )


def _told(loop: asyncio.AbstractEventLoop, journal: Journal, error: StreamwardError) -> None:
    """By a thread."""
    with contextlib.suppress(RuntimeError):  # the loop is closed
        loop.call_soon_threadsafe(journal.record, ClipsNotKept(error=error))
