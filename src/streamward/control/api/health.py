"""Whether the process lives, whether it can work, and its metrics."""

from fastapi import Response

from streamward import __version__
from streamward.control.api.routing import Access, Routes
from streamward.control.metrics import CONTENT_TYPE, MeasuredStore, Metrics
from streamward.protocol.health import Alive, Ready


def add_health(routes: Routes, store: MeasuredStore, *, metrics: Metrics) -> None:
    """Adds the routes that machines watch."""

    @routes.get("/healthz", access=Access.OPEN)
    async def healthz() -> Alive:
        """Answers while the process lives."""
        return Alive(status="alive", version=__version__)

    @routes.get("/ready", access=Access.OPEN, refuses={503: "The database does not answer"})
    async def ready() -> Ready:
        """Answers 200 when the database does."""
        return Ready(status="ready", database_time=await store.ping())

    @routes.get("/metrics", access=Access.VIEWER, of_all=True)
    async def get_metrics() -> Response:
        """Tells everything that Prometheus scrapes, of all tenants."""
        return Response(await metrics.render(store), media_type=CONTENT_TYPE)
