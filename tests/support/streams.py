"""Reports of streams, in a few words."""

from streamward.model.status import StreamState
from streamward.protocol.streams import StreamReport
from tests.support.builders import START, an_owner


def a_report(number: int, *, state: StreamState = StreamState.STREAMING) -> StreamReport:
    return StreamReport(camera_uuid=f"cam-{number}", runner_id=an_owner().runner_id, state=state, ts=START)
