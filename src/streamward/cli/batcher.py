"""`streamward batcher`: turns what Workers see into batches, and tells of them."""

from streamward import __version__
from streamward.cli import readiness


def run(*, ready_fd: readiness.ReadyFd = None) -> None:
    """Take detections from the bus, refuse stale ones, store the others, and close batches of them.

    On the database, bus and object store of the control plane. Several share their work if STREAMWARD_REDIS_URL names
    a Redis. Ctrl-C ends it within seconds; whatever is not done then, the next start or another batcher does.
    """
    import asyncio

    import uvloop

    from streamward.batcher.app import serve
    from streamward.protocol.readiness import BatcherReady
    from streamward.runtime import core_dumps
    from streamward.settings import load

    settings = load()
    if not settings.core_dumps:
        core_dumps.forbid()

    def announce(ready: BatcherReady, *, database: str, retention: str, bus: str, index: str) -> None:
        facts = [
            ("database", database),
            ("retention", retention),
            ("bus", bus),
            ("index", index),
            ("metrics", f"{ready.url}/metrics"),
        ]
        print(f"Streamward {__version__} batcher", "", *(f"  {name:<9} {value}" for name, value in facts), sep="\n")
        print("", "Ctrl-C ends it.", sep="\n", flush=True)
        readiness.report(ready_fd, ready)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, announce=announce))
