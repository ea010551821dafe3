"""When a runner may log in at a camera: refused logins count here, over restarts and takeovers."""

import hashlib
import hmac
from collections.abc import Callable

from streamward.control.api.routing import Access, Routes
from streamward.control.leasing import owner_of
from streamward.leases import facts
from streamward.leases.lease import Owner
from streamward.leases.login_talk import CameraLogin, LoginTalk, LoginTold
from streamward.leases.logins import LoginId
from streamward.leases.store import LoginStore
from streamward.model.identity import Caller
from streamward.model.ids import CameraId
from streamward.protocol.logins import AnsweredLogin, AskLogins, LoginAnswers
from streamward.protocol.problem import Problem
from streamward.runtime.journal import Journal


def add_logins(routes: Routes, store: LoginStore, *, journal: Journal, digest_keys: Callable[[], list[bytes]]) -> None:
    """Adds the route about logins."""

    @routes.post("/v1/logins", access=Access.RUNNER)
    async def ask_logins(caller: Caller, message: AskLogins) -> LoginAnswers | Problem:
        """Takes in how logins ended, and says which may be tried now; cameras of others are left out."""
        owner = owner_of(caller, message.runner_id, message.incarnation)
        if isinstance(owner, Problem):
            return owner
        kept = _Kept({each.login for each in [*message.asks, *message.told]}, digest_keys())
        judged = await store.judge_logins(_talk(owner, message, kept), scope=caller.tenant_id)
        for camera_id in judged.parked:
            journal.record(facts.LoginParked(camera_id=camera_id, runner_id=owner.runner_id))
        return LoginAnswers(
            items=[
                AnsweredLogin(
                    camera_uuid=each.camera_id,
                    login=kept.given[each.login],
                    permission=each.permission,
                    retry_in_ms=round(each.retry_in * 1000),
                )
                for each in judged.answers
            ]
        )


class _Kept:
    """Logins as the store knows them: users' names are easily guessed, and a bare digest would give them away."""

    def __init__(self, logins: set[str], digest_keys: list[bytes]) -> None:
        called = {login: [_digest(login, key) for key in digest_keys] for login in logins}
        self.names = {login: names[0] for login, names in called.items()}
        self.given = {name: login for login, name in self.names.items()}
        self.formerly = {names[0]: tuple(names[1:]) for names in called.values()}  # under keys before a change


def _digest(login: str, key: bytes) -> LoginId:
    return LoginId(hmac.new(key, login.encode(), hashlib.sha256).hexdigest())


def _talk(owner: Owner, message: AskLogins, kept: _Kept) -> LoginTalk:
    return LoginTalk(
        owner=owner,
        told=tuple(
            LoginTold(camera_id=CameraId(each.camera_uuid), login=kept.names[each.login], outcome=each.outcome)
            for each in message.told
        ),
        asks=tuple(
            CameraLogin(camera_id=CameraId(each.camera_uuid), login=kept.names[each.login]) for each in message.asks
        ),
        formerly=kept.formerly,
    )
