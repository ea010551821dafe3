"""The simulated control plane behind its real HTTP application: tokens, decoding, routes and problems included."""

from collections.abc import MutableMapping
from datetime import datetime
from typing import Any

import msgspec

from streamward.control.api.application import Holdings, create_app
from streamward.control.keys import new_keyring
from streamward.control.standing import KnownStanding
from streamward.control.tokens import Everyone, TokenCheck, TokenMint
from streamward.control.trust import Trust
from streamward.drills.simulation.control import VAULT, Endpoint, drive
from streamward.drills.simulation.events import EPOCH
from streamward.drills.simulation.world import Parts
from streamward.drivers.memory import MemoryInsight, MemoryStore
from streamward.insight.rules import Rules
from streamward.model.identity import Caller
from streamward.model.ids import Incarnation, RunnerId
from streamward.protocol import codec
from streamward.protocol.leases import CamerasReleased, ReleaseAll, ReleaseCamera
from streamward.protocol.problem import Problem
from streamward.protocol.runner_link import PATHS, REPLIES, Reply
from streamward.runtime.bell import Bell
from streamward.runtime.journal import Journal

# What runners send on other ways than the lease line.
_PATHS: dict[type[Any], str] = {
    **PATHS,
    ReleaseAll: "/v1/runners/release-all",
    ReleaseCamera: "/v1/leases/camera/release",
}
_REPLIES: dict[type[Any], type[Any]] = {**REPLIES, ReleaseAll: CamerasReleased, ReleaseCamera: CamerasReleased}


class _StandingClock:
    """Tokens do not age in the simulation: their lifetimes have tests of their own."""

    def wall(self) -> datetime:
        return EPOCH

    def boot(self) -> float:
        return 0.0


CLOCK = _StandingClock()
KEYRING = new_keyring()
MINT = TokenMint(KEYRING, clock=CLOCK)


class AsgiEndpoint:
    """Answers by calling the application as a server would."""

    def __init__(self, store: MemoryStore, journal: Journal) -> None:
        self._app = create_app(
            Holdings(store, MemoryInsight(store.database, rules=Rules())),
            bell=Bell("asgi"),
            journal=journal,
            trust=Trust(TokenCheck(KEYRING, clock=CLOCK, standing=Everyone()), MINT, KnownStanding(store, clock=CLOCK)),
            vault=VAULT,
            clock=CLOCK,
        )
        self._tokens: dict[Caller, str] = {}

    def answer(self, caller: Caller, request: Any) -> Reply:
        status, body = self._call(_PATHS[type(request)], self._token(caller), codec.encode(request))
        if status >= 400:
            return msgspec.json.decode(body, type=Problem)
        reply: Reply = codec.decode(body, _REPLIES[type(request)])
        return reply

    def _token(self, caller: Caller) -> str:
        if caller not in self._tokens:
            assert caller.incarnation is not None
            self._tokens[caller] = MINT.runner(
                RunnerId(caller.subject), incarnation=Incarnation(caller.incarnation), tenant_id=caller.tenant_id
            )
        return self._tokens[caller]

    def _call(self, path: str, token: str, body: bytes) -> tuple[int, bytes]:
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        drive(self._app(_scope(path, token), receive, send))
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def _scope(path: str, token: str) -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")],
        "server": ("control", 80),
        "client": ("runner", 1),
    }


def _endpoint(store: MemoryStore, journal: Journal) -> Endpoint:
    return AsgiEndpoint(store, journal)


OVER_HTTP = Parts(endpoint=_endpoint)
