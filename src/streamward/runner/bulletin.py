"""What a Manager reports to the control plane again and again: how its streams are."""

from itertools import islice

from streamward.model.ids import CameraId
from streamward.protocol.problem import Problem
from streamward.protocol.streams import ReportsAccepted, StreamReport, StreamReports
from streamward.runner.known import NOT_NOW
from streamward.runner.manager import Manager
from streamward.runner.own_leases import Control
from streamward.runtime.hedging import Overlapping

MOST_REPORTS = 1000  # in one message
PATH = "/v1/streams/status/batch"
EVERY = 1.0  # seconds
TELL_WITHIN = 8.0  # seconds; what is not accepted by then is reported again


class Bulletin:
    """A service runs its ticks."""

    def __init__(self, manager: Manager, control: Control) -> None:
        self._manager = manager
        self._control = control
        self._calls = Overlapping()

    async def tick(self) -> float:
        """Tells everything once; what is slow to be accepted holds up no newer report."""
        reports, self._manager.reports = self._manager.reports, {}
        while reports:
            batch = dict(islice(reports.items(), MOST_REPORTS))
            reports = {camera_id: report for camera_id, report in reports.items() if camera_id not in batch}
            await self._calls.call(self._tell(batch))
        return EVERY

    async def close(self) -> None:
        """Ends what is outstanding."""
        await self._calls.close()

    async def _tell(self, reports: dict[CameraId, StreamReport]) -> None:
        """What a control plane refuses for good is not told again."""
        is_done = False
        try:
            message = StreamReports(items=list(reports.values()))
            answer = await self._control.post(PATH, message, ReportsAccepted, within=TELL_WITHIN)
            is_done = answer is not None and not (isinstance(answer, Problem) and answer.status in NOT_NOW)
        finally:
            if not is_done:
                self._manager.reports = reports | self._manager.reports  # newer ones win
