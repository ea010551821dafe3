"""Numbers without end, NaN, NUL, half surrogate pairs and endless nesting, in every place of every route.

On memory here; `tests/system/test_control_hostile.py` sends the same to a real process on PostgreSQL.
"""

from collections.abc import AsyncIterator

import httpx
import pytest

from streamward.model.identity import Role
from streamward.model.ids import Incarnation, RunnerId
from tests.support import hostile
from tests.support.app import ControlUnderTest
from tests.support.hostile import Attempt
from tests.support.operations import Names

APP = ControlUnderTest().app
NAMES = Names()
COLUMNS = ["camera_uuid", "site_id", "rtsp_url", "username", "password", "max_fps", "labels", "zones", "enabled"]


class World:
    """A control plane with a camera, and who calls it."""

    def __init__(self, control: ControlUnderTest, client: httpx.AsyncClient) -> None:
        self._client = client
        self.admin = control.mint.person("root", role=Role.ADMIN)
        self.runner = control.mint.runner(RunnerId("r1"), incarnation=Incarnation("inc-1"))

    async def send(self, attempt: Attempt, token: str | None) -> None:
        """Sends it; what the application raises is raised here."""
        bearing = {} if token is None else {"Authorization": f"Bearer {token}"}
        headers, url = bearing | attempt.headers, f"http://control{attempt.target}"
        answer = await self._client.request(attempt.method, url, content=attempt.body, headers=headers)
        assert answer.status_code < 500, f"{answer.status_code}: {attempt}"


@pytest.fixture
async def world() -> AsyncIterator[World]:
    control = await ControlUnderTest().with_cameras("cam-1")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(control.app)) as client:
        yield World(control, client)


@pytest.mark.parametrize(("path", "method"), hostile.routes(APP))
async def test_no_value_in_any_place_of_a_route_is_a_fault_of_ours(world: World, path: str, method: str) -> None:
    entitled = world.runner if hostile.wants_runner(APP, path, method) else world.admin
    for attempt in hostile.attempts(APP, path, method, NAMES):
        await world.send(attempt, None)
        await world.send(attempt, entitled)
    for attempt in hostile.messages(APP, path, method, NAMES):
        await world.send(attempt, entitled)


@pytest.mark.parametrize("column", COLUMNS)
async def test_no_value_in_any_column_of_an_import_is_a_fault_of_ours(world: World, column: str) -> None:
    for content, kind in hostile.lines([column]):
        body = content.encode("utf-8", errors="surrogatepass")
        for target in ("/v1/cameras/import", "/v1/cameras/import?dry_run=true"):
            attempt = Attempt(method="POST", target=target, body=body, headers={"Content-Type": kind})
            await world.send(attempt, world.admin)
