"""`streamward batcher`: turns what Workers see into batches, and tells of them."""

from streamward import __version__


def run() -> None:
    """Take detections from the bus, refuse stale ones, store the others, and close batches of them.

    On the database, bus and object store of the control plane. Several share their work if STREAMWARD_REDIS_URL names
    a Redis. Ctrl-C ends it within seconds; whatever is not done then, the next start or another batcher does.
    """
    import asyncio

    import uvloop

    from streamward.batcher.app import serve
    from streamward.settings import load

    settings = load()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings, announce=_announce))


def _announce(*, metrics: str, database: str, bus: str, index: str) -> None:
    facts = [("database", database), ("bus", bus), ("index", index), ("metrics", metrics)]
    print(f"Streamward {__version__} batcher", "", *(f"  {name:<9} {value}" for name, value in facts), sep="\n")
    print("", "Ctrl-C ends it.", sep="\n", flush=True)
