"""Waiting for a change without asking over and over."""

from streamward.control.api.routing import Routes
from streamward.protocol.wait import Changed, WaitQuery
from streamward.runtime.bell import Bell


def add_wait(routes: Routes, bell: Bell) -> None:
    """Adds the route that waits; a waiter costs one task, no thread and no connection to the database."""

    @routes.get("/v1/wait")
    async def wait_for_change(query: WaitQuery) -> Changed:
        """Returns when leases free up or cameras change, or when the time is over."""
        changed = await bell.wait(query.after, at_most=query.timeout_s)
        return Changed(cursor=bell.cursor, changed=changed)
