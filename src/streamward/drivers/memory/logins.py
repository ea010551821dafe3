"""Refused logins in memory."""

from collections.abc import Sequence

from streamward.drivers.memory.database import MemoryDatabase
from streamward.leases.lease import Owner
from streamward.leases.login_talk import LoginPlace, LoginsJudged, LoginTalk, judge
from streamward.leases.logins import LoginId, LoginRecord, retried
from streamward.model.ids import CameraId, TenantId


class MemoryLogins:
    """The login port on a `MemoryDatabase`."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._db = database

    async def judge_logins(self, talk: LoginTalk, *, scope: TenantId | None) -> LoginsJudged:
        places = dict(self._places(talk, scope))
        after, judged = judge(talk, places, self._db.logins, now=self._db.now().timestamp())
        self._db.logins.update(after)
        return judged

    async def find_login(self, tenant_id: TenantId, names: Sequence[LoginId]) -> LoginRecord | None:
        found = (self._db.logins.get((tenant_id, each), LoginRecord()) for each in names)
        return next((record for record in found if record != LoginRecord()), None)

    async def retry_login(self, tenant_id: TenantId, names: Sequence[LoginId]) -> bool:
        keys = [(tenant_id, each) for each in names if (tenant_id, each) in self._db.logins]
        after = {key: retried(self._db.logins[key], self._db.now().timestamp()) for key in keys}
        changed = {key: record for key, record in after.items() if record != self._db.logins[key]}
        self._db.logins.update(changed)
        return bool(changed)

    def _places(self, talk: LoginTalk, scope: TenantId | None) -> list[tuple[CameraId, LoginPlace]]:
        cameras = [self._db.cameras[each] for each in talk.camera_ids if each in self._db.cameras]
        return [
            (
                camera.camera_id,
                LoginPlace(tenant_id=camera.tenant_id, is_held=self._may_dial(camera.camera_id, talk.owner)),
            )
            for camera in cameras
            if scope in (None, camera.tenant_id)
        ]

    def _may_dial(self, camera_id: CameraId, owner: Owner) -> bool:
        """Who holds it, and who is to have it."""
        return owner in (self._db.leases[camera_id].owner, self._db.heir(camera_id))
