"""When a runner may log in at a camera: refused logins count here, over restarts and takeovers."""

from streamward.control.api.cameras import UNKNOWN
from streamward.control.api.routing import Access, Routes
from streamward.control.leasing import owner_of
from streamward.control.logins import LoginService
from streamward.leases.store import CameraStore
from streamward.model.identity import Author, Caller
from streamward.model.ids import CameraId
from streamward.protocol.logins import AskLogins, LoginAnswers, LoginRetried
from streamward.protocol.problem import Problem


def add_logins(routes: Routes, cameras: CameraStore, *, logins: LoginService) -> None:
    """Adds the routes about logins."""

    @routes.post("/v1/logins", access=Access.RUNNER)
    async def ask_logins(caller: Caller, message: AskLogins) -> LoginAnswers | Problem:
        """Takes in how logins ended, and says which may be tried now; cameras of others are left out."""
        owner = owner_of(caller, message.runner_id, message.incarnation)
        return owner if isinstance(owner, Problem) else await logins.judge(owner, message, scope=caller.tenant_id)

    @routes.post("/v1/cameras/{camera_uuid}/retry", access=Access.OPERATOR, refuses={404: "There is no such camera"})
    async def retry_login(author: Author, camera_uuid: str) -> LoginRetried | Problem:
        """Allows one more try of a camera's login that was refused too often, before its time is over."""
        camera = await cameras.find_camera(CameraId(camera_uuid), scope=author.tenant_id)
        if camera is None:
            return UNKNOWN
        return LoginRetried(camera_uuid=camera_uuid, was_parked=await logins.retry(camera))
