"""What Workers report of their streams (S0-073)."""

from streamward.control.api.routing import Access, Routes
from streamward.control.api.runners import NOT_YOURS
from streamward.leases.store import StatusStore
from streamward.model.identity import Caller
from streamward.protocol.problem import Problem
from streamward.protocol.streams import ReportsAccepted, StreamReports, status


def add_streams(routes: Routes, store: StatusStore) -> None:
    """Adds the route about streams."""

    @routes.post("/v1/streams/status/batch", access=Access.RUNNER, status=202)
    async def report_streams(caller: Caller, message: StreamReports) -> ReportsAccepted | Problem:
        """Takes in how streams are; reports of cameras that the runner does not hold are left out."""
        if any(report.runner_id != caller.subject for report in message.items):
            return NOT_YOURS
        accepted = await store.record([status(report) for report in message.items])
        return ReportsAccepted(accepted=accepted)
