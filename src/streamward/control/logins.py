"""What is known of camera logins: what runners report and ask, until when one is parked, and one more try of it.

A login is stored under a digest by keys that are derived from the signing keys, so that a reader of the database can
test neither users nor passwords against it. After a change of the signing key a record is found under the digest by
the former key, and renamed when a runner next asks.
"""

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from streamward.leases import facts
from streamward.leases.lease import Owner
from streamward.leases.login_talk import CameraLogin, LoginTalk, LoginTold
from streamward.leases.logins import LoginId, LoginRecord, login_of
from streamward.leases.store import LoginStore
from streamward.model.camera import Camera
from streamward.model.ids import CameraId, TenantId
from streamward.model.source_url import SourceKind, SourceUrlRefused, parse
from streamward.model.vault import CredentialUnreadable, CredentialVault
from streamward.protocol.logins import AnsweredLogin, AskLogins, LoginAnswers
from streamward.runtime.journal import Journal


@dataclass(frozen=True, slots=True)
class LoginService:
    """The logins of all cameras."""

    store: LoginStore
    vault: CredentialVault
    journal: Journal
    digest_keys: Callable[[], list[bytes]]  # the newest first

    async def judge(self, owner: Owner, message: AskLogins, *, scope: TenantId | None) -> LoginAnswers:
        """Takes in how logins ended, and answers which may be tried now; cameras of others are left out."""
        names = {each.login: self._names(each.login) for each in [*message.asks, *message.told]}
        given = {stored[0]: login for login, stored in names.items()}
        talk = LoginTalk(
            owner=owner,
            told=tuple(
                LoginTold(camera_id=CameraId(each.camera_uuid), login=names[each.login][0], outcome=each.outcome)
                for each in message.told
            ),
            asks=tuple(
                CameraLogin(camera_id=CameraId(each.camera_uuid), login=names[each.login][0]) for each in message.asks
            ),
            formerly={stored[0]: tuple(stored[1:]) for stored in names.values()},
        )
        judged = await self.store.judge_logins(talk, scope=scope)
        for camera_id in judged.parked:
            self.journal.record(facts.LoginParked(camera_id=camera_id, runner_id=owner.runner_id))
        return LoginAnswers(
            items=[
                AnsweredLogin(
                    camera_uuid=each.camera_id,
                    login=given[each.login],
                    permission=each.permission,
                    retry_in_ms=round(each.retry_in * 1000),
                )
                for each in judged.answers
            ]
        )

    async def record(self, camera: Camera) -> LoginRecord | None:
        """What is known of a camera's login; None: nothing, or it has none that can be opened."""
        names = self._names_of(camera)
        return await self.store.find_login(camera.tenant_id, names) if names else None

    async def retry(self, camera: Camera) -> bool:
        """Allows one more try of a camera's login if it is parked; returns whether it was."""
        names = self._names_of(camera)
        was_parked = bool(names) and await self.store.retry_login(camera.tenant_id, names)
        if was_parked:
            self.journal.record(facts.LoginRetried(camera_id=camera.camera_id))
        return was_parked

    def _names_of(self, camera: Camera) -> list[LoginId]:
        if camera.sealed is None:
            return []
        try:
            credential = self.vault.open(camera.sealed, tenant_id=camera.tenant_id, camera_id=camera.camera_id)
            login = login_of(parse(camera.rtsp_url, kinds=set(SourceKind)).url, credential)
        except (CredentialUnreadable, SourceUrlRefused):
            return []
        return [] if login is None else self._names(login)

    def _names(self, login: str) -> list[LoginId]:
        keys = self.digest_keys()
        return [LoginId(hmac.new(key, login.encode(), hashlib.sha256).hexdigest()) for key in keys]
